use std::fmt;

use tidegate_core::text;

/// The text of a key: where the entry is, unless it is longer than most hosts are.
pub(crate) enum KeyText {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<str>),
}

/// As long as fits into 32 bytes.
const SHORT: usize = 30;

impl From<&str> for KeyText {
    fn from(text: &str) -> Self {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..text.len()) {
            Some(start) => {
                start.copy_from_slice(text.as_bytes());
                let length = text.len() as u8;
                Self::Short { length, bytes }
            }
            None => Self::Long(text.into()),
        }
    }
}

impl KeyText {
    #[inline]
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(text) => text.as_bytes(),
        }
    }

    /// Not where a key is looked up: a short one is looked at for whether it is UTF-8.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Short { .. } => str::from_utf8(self.as_bytes()).expect("it was made of text"),
            Self::Long(text) => text,
        }
    }

    #[inline]
    pub(crate) fn is(&self, text: &str) -> bool {
        self.as_bytes() == text.as_bytes()
    }

    /// How many keys it counts as: one, and one more for each KiB.
    pub(crate) fn weight(&self) -> usize {
        weight(self.as_bytes().len())
    }
}

/// What a key of so many bytes counts as.
pub(crate) fn weight(length: usize) -> usize {
    1 + length / 1024
}

/// What may be shown of it.
impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::name(self.as_str()).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_any_length_is_itself_and_no_other() {
        let long = "ключ".repeat(10);
        let ends = (0..=long.len()).filter(|end| long.is_char_boundary(*end));
        let texts: Vec<_> = ends.map(|end| &long[..end]).collect();
        for text in &texts {
            let key = KeyText::from(*text);
            assert_eq!(key.as_str(), *text);
            let same: Vec<_> = texts.iter().filter(|other| key.is(other)).collect();
            assert_eq!(same, [text]);
            if let Some(start) = text.strip_suffix(['к', 'л', 'ю', 'ч']) {
                assert!(!key.is(&format!("{start}я")), "{text}");
            }
        }
        assert_eq!(size_of::<KeyText>(), 32);
    }
}
