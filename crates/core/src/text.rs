//! What others wrote, made harmless: for whoever shows a key, a title or an error's words.

/// A name has at most as many characters.
const NAME: usize = 100;

/// What may be shown as a name, such as of a key: of what may be a URL, neither credentials nor a query.
///
/// Neither what comes after a `?` or a `#` nor, in any word or part of a path, what stands before an `@`
/// is left, and of the rest what [`tame`] leaves of 100 characters.
///
/// ```
/// use tidegate_core::text;
///
/// assert_eq!(text::name("https://user:secret@example.com/v1?key=secret"), "https://example.com/v1");
/// ```
pub fn name(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let (before, query) = text.split_at(end);
    let mut shown = String::new();
    // Where a password may begin, which need not end with its word.
    let mut secret = None;
    for word in before.split_inclusive(is_end) {
        let at = word.rfind('@').filter(|at| *at > 0 || secret.is_some());
        if let Some(at) = at {
            shown.truncate(secret.take().unwrap_or(shown.len()));
            shown.push_str(&word[at + 1..]);
            continue;
        }
        if may_end_in_a_password(word) {
            secret.get_or_insert(shown.len());
        }
        shown.push_str(word);
    }
    // A query with an `@`, or a password with a `?`: either side may be what is not to be shown.
    let host = shown.rfind("//").map_or(0, |slashes| slashes + 2);
    let is_host = !shown[host..].contains(is_end);
    let is_split = query
        .split(is_end)
        .next()
        .is_some_and(|query| query.contains('@'));
    let hidden = secret
        .filter(|_| query.contains('@'))
        .or((is_host && is_split).then_some(host));
    if let Some(hidden) = hidden {
        shown.truncate(hidden);
        shown.push('…');
    }
    tame(&shown, NAME)
}

/// What ends a word, or a part of a path: URLs are read with either slash.
fn is_end(c: char) -> bool {
    c == '/' || c == '\\' || c.is_whitespace()
}

/// Whether it is a name and something behind a colon, which is neither a port nor the address in it.
fn may_end_in_a_password(word: &str) -> bool {
    let word = word.trim_end_matches(is_end);
    let after = word.split_once(':').map_or("", |(_, after)| after);
    let is_port = after.bytes().all(|byte| byte.is_ascii_digit());
    !is_port && !word.ends_with(':') && !word.starts_with('[')
}

/// Without what breaks a line, ends a text or turns its direction; at most `most` characters, the last
/// of them an ellipsis where there were more.
///
/// Quotes and markup stay as they are: who writes HTML escapes them.
pub fn tame(text: &str, most: usize) -> String {
    let is_longer = text.char_indices().nth(most).is_some();
    let kept = if is_longer {
        most.saturating_sub(1)
    } else {
        most
    };
    let kept = text.chars().take(kept);
    kept.map(|c| if is_wild(c) { ' ' } else { c })
        .chain(is_longer.then_some('…'))
        .collect()
}

/// Controls, separators of lines, marks that turn the direction or are not seen, and what XML does not
/// allow.
fn is_wild(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}')
        || matches!(c, '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}')
        || matches!(c, '\u{FFFE}' | '\u{FFFF}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_neither_credentials_nor_a_query() {
        for (given, shown) in [
            ("api.example.com", "api.example.com"),
            ("https://api.example.com/v1", "https://api.example.com/v1"),
            (
                "https://u:secret@host/v1?key=secret#secret",
                "https://host/v1",
            ),
            ("https://u:sec?ret@host/v1", "https://…"),
            ("u:secret@host:80", "host:80"),
            ("host?mail=a@secret/b?c", "…"),
            ("tenant 7 #secret", "tenant 7 "),
            ("host?next=secret://x", "host"),
            ("host/@me?key=secret", "host/@me"),
            ("//u:secret@host/v1", "//host/v1"),
            ("https:/u:secret@host/v1", "https:/host/v1"),
            (r"https:\\u:secret@host\v1", r"https:\\host\v1"),
            (" https://u:secret@host", " https://host"),
            ("GET https://u:secret@host/v1", "GET https://host/v1"),
            ("jdbc:db://u:secret@host/v1", "jdbc:db://host/v1"),
            ("7|https://u:secret@host", "7|https://host"),
            ("https://host/secret@host/v1", "https://host/host/v1"),
            ("https://u:secret/secret@host/v1", "https://host/v1"),
            ("https://u:secret/@host/v1", "https://host/v1"),
            ("https://u:secret secret@host/v1", "https://host/v1"),
            ("https://u:secret/se?cret/@host", "https://…"),
            ("https://[::1]:80/@me", "https://[::1]:80/@me"),
            ("https://host:80/@me", "https://host:80/@me"),
            ("https://host/v1?to=a@secret", "https://host/v1"),
            ("", ""),
        ] {
            assert_eq!(name(given), shown, "{given}");
        }
    }

    #[test]
    fn what_others_wrote_stays_on_its_line_and_within_its_length() {
        assert_eq!(tame("a\nb\r\0\u{202E}c\u{2028}d", 20), "a b   c d");
        assert_eq!(tame(&"é".repeat(1_000_000), 5), "éééé…");
        assert_eq!(tame("tide", 4), "tide");
        assert_eq!(tame("a\u{61c}b\u{200b}c\u{feff}d\u{e0041}", 20), "a b c d ");
        assert_eq!(
            name(&format!("https://{}", "a".repeat(1_000)))
                .chars()
                .count(),
            100
        );
    }
}
