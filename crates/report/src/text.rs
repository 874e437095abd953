//! What others wrote, in a line, and in HTML and XML.

use tidegate_core::text::{name, tame};

/// Words of somebody's: each URL in them without credentials and query, at most `most` characters.
pub(crate) fn words(text: &str, most: usize) -> String {
    if !text.contains("://") {
        return tame(text, most);
    }
    let words = text.split(char::is_whitespace).map(|word| {
        let is_url = word.contains("://");
        if is_url { name(word) } else { word.to_owned() }
    });
    // Cut off last: what is before an `@` is not known for what it is without that.
    tame(&words.collect::<Vec<String>>().join(" "), most)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_show_of_a_url_neither_credentials_nor_a_query() {
        let said = "told by\nhttps://u:secret@host/v1?key=secret to wait, see http://host#secret";
        assert_eq!(
            words(said, 100),
            "told by https://host/v1 to wait, see http://host"
        );
        assert_eq!(words("at 5/s, a@b?", 100), "at 5/s, a@b?");
        assert_eq!(
            words("see https://u:secret@host/v1", 20),
            "see https://host/v1"
        );
        assert_eq!(words("(https://u:secret@host)", 20), "(https://host)");
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(escape("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}
