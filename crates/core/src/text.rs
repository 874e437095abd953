//! What others wrote, made harmless: for whoever shows a key, a title or an error's words.

/// A name has at most as many characters.
const NAME: usize = 100;

/// What may be shown as a name, such as of a key: of what may be a URL, neither credentials nor a query.
///
/// Neither what comes after a `?` or a `#` nor what stands before an `@` is left, and of the rest what
/// [`tame`] leaves of 100 characters.
///
/// ```
/// use tidegate_core::text;
///
/// assert_eq!(text::name("https://user:secret@example.com/v1?key=secret"), "https://example.com/v1");
/// ```
pub fn name(text: &str) -> String {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let (scheme, rest) = text
        .split_once("://")
        .filter(|(scheme, _)| scheme.chars().all(is_scheme))
        .unwrap_or(("", text));
    let authority = rest.split('/').next().unwrap_or(rest);
    let ends: &[char] = &['?', '#'];
    let shown = match (authority.rfind('@'), authority.find(ends)) {
        // A query with an `@`, or a password with a `?`: either side may be what is not to be shown.
        (Some(at), Some(end)) if end < at => "…",
        (Some(at), _) => &rest[at + 1..],
        (None, _) => rest,
    };
    let shown = shown.split(ends).next().unwrap_or(shown);
    match scheme {
        "" => tame(shown, NAME),
        scheme => tame(&format!("{scheme}://{shown}"), NAME),
    }
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
