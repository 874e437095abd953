use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::scenario::ScenarioError;

/// No one key covers it.
const WHOLE: Range<usize> = 0..usize::MAX;

/// What is wrong, and where in the text it starts.
#[derive(Debug)]
pub(super) struct Wrong {
    span: Range<usize>,
    message: String,
}

impl Wrong {
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
        }
    }

    /// With the line and the key of its place in `text`.
    pub(super) fn placed_in(self, text: &str) -> ScenarioError {
        let before = text.bytes().take(self.span.start);
        let mut key = String::new();
        if let Ok(table) = DeTable::parse(text) {
            find(table.get_ref(), &self.span, "", &mut key);
        }
        ScenarioError {
            file: None,
            line: before.filter(|&byte| byte == b'\n').count() + 1,
            key,
            message: self.message,
        }
    }
}

impl From<&toml::de::Error> for Wrong {
    fn from(error: &toml::de::Error) -> Self {
        let span = error.span().filter(|span| span.end > 0);
        Self::at(span.unwrap_or(WHOLE), error.message())
    }
}

/// The deepest key whose name or value covers `at`.
fn find(table: &DeTable<'_>, at: &Range<usize>, above: &str, found: &mut String) {
    for (name, value) in table {
        let key = if above.is_empty() {
            name.get_ref().to_string()
        } else {
            format!("{above}.{}", name.get_ref())
        };
        if covers(&name.span(), at) || covers(&value.span(), at) {
            found.clone_from(&key);
        }
        find_inside(value.get_ref(), at, &key, found);
    }
}

fn find_inside(value: &DeValue<'_>, at: &Range<usize>, key: &str, found: &mut String) {
    match value {
        DeValue::Table(table) => find(table, at, key, found),
        DeValue::Array(items) => {
            for item in items {
                if covers(&item.span(), at) {
                    key.clone_into(found);
                }
                find_inside(item.get_ref(), at, key, found);
            }
        }
        _ => {}
    }
}

fn covers(whole: &Range<usize>, part: &Range<usize>) -> bool {
    whole.start <= part.start && part.end <= whole.end
}
