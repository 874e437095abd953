//! What others wrote, made harmless.

/// A title has at most as many characters.
const TITLE: usize = 100;

/// What a run may be called: of what may be a URL, neither credentials nor a query.
pub(crate) fn title(text: &str) -> String {
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
    let shown = match scheme {
        "" => shown.to_owned(),
        scheme => format!("{scheme}://{shown}"),
    };
    tame(&shown, TITLE)
}

/// Without what breaks a line, ends a text or turns its direction; at most `most` characters.
pub(crate) fn tame(text: &str, most: usize) -> String {
    let tamed: String = text
        .chars()
        .take(most + 1)
        .map(|c| if is_wild(c) { ' ' } else { c })
        .collect();
    shorten(&tamed, most)
}

/// At most `most` characters, the last of them an ellipsis where there were more.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        None => text.to_owned(),
    }
}

/// As the text or the attribute of an element, in HTML and XML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Controls, separators of lines, marks that turn the direction, and what XML does not allow.
fn is_wild(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{FFFE}' | '\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_shows_neither_credentials_nor_a_query() {
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
            assert_eq!(title(given), shown, "{given}");
        }
    }

    #[test]
    fn what_others_wrote_stays_on_its_line_and_within_its_length() {
        assert_eq!(tame("a\nb\r\0\u{202E}c\u{2028}d", 20), "a b   c d");
        assert_eq!(tame(&"é".repeat(1_000_000), 5), "éééé…");
        assert_eq!(escape("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}
