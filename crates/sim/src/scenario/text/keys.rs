use std::ops::Range;

use toml::Spanned;

use super::place::Wrong;
use crate::scenario::scalar::{Number, Whole};

/// The keys of a table whose `kind` says which it needs and which it may not have.
#[derive(Debug)]
pub(super) struct Keys {
    table: &'static str,
    kind: &'static str,
    span: Range<usize>,
}

impl Keys {
    pub(super) fn new(table: &'static str, kind: &'static str, span: Range<usize>) -> Self {
        Self { table, kind, span }
    }

    pub(super) fn need<'a, T>(
        &self,
        key: &str,
        value: Option<&'a Spanned<T>>,
    ) -> Result<&'a Spanned<T>, Wrong> {
        value.ok_or_else(|| {
            let Self { table, kind, span } = self;
            let words = format!("expected `{key}`, which a {table} of kind \"{kind}\" needs");
            Wrong::at(span.clone(), words)
        })
    }

    /// Refuses `value`, which belongs to the kinds named `owner`, in any other.
    pub(super) fn only<T>(
        &self,
        owner: &str,
        key: &str,
        value: Option<&Spanned<T>>,
    ) -> Result<(), Wrong> {
        let Self { table, kind, .. } = self;
        match value {
            Some(value) if *kind != owner => {
                let words = format!("expected no `{key}`: a {table} of kind \"{kind}\" has none");
                Err(Wrong::at(value.span(), words))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn number(
        &self,
        key: &str,
        value: Option<&Spanned<Number>>,
        fits: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Result<f64, Wrong> {
        let value = self.need(key, value)?;
        let number = value.get_ref().0;
        if fits(number) {
            return Ok(number);
        }
        let words = format!("expected a number {expected}, not {number}");
        Err(Wrong::at(value.span(), words))
    }

    pub(super) fn count(&self, key: &str, value: Option<&Spanned<Whole>>) -> Result<u32, Wrong> {
        let value = self.need(key, value)?;
        match value.get_ref().0 {
            0 => Err(Wrong::at(value.span(), "expected at least 1, not 0")),
            count => Ok(count),
        }
    }
}
