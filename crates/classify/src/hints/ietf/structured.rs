use std::borrow::Cow;
use std::convert::Infallible;
use std::time::Duration;

use http::HeaderMap;
use sfv::visitor::{
    DictionaryVisitor, EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ListVisitor,
    ParameterVisitor,
};
use sfv::{BareItemFromInput as BareItem, Error, KeyRef, Parser};

use crate::hints::Unit;

/// A member of a structured field (RFC 9651): `"burst";q=100;w=60` in a list, `limit=100` in a
/// dictionary.
#[derive(Debug, Default)]
pub(super) struct Member<'h> {
    /// The string or token of an item in a list; the key in a dictionary.
    pub(super) name: Option<Cow<'h, str>>,
    pub(super) value: Option<Number>,
    q: Option<Number>,
    w: Option<Number>,
    pub(super) r: Option<Number>,
    pub(super) t: Option<Number>,
    pub(super) unit: Unit,
}

/// In thousandths, since a structured field has three digits after the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(u64);

impl Number {
    pub(super) fn count(self) -> u64 {
        self.0 / 1000
    }

    pub(super) fn seconds(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl Member<'_> {
    /// A policy without a name is its limit: `100;w=60`.
    pub(super) fn limit(&self) -> Option<u64> {
        self.q.or(self.value).map(Number::count)
    }

    pub(super) fn window(&self) -> Option<Duration> {
        self.w.map(Number::seconds)
    }
}

/// The members of a list, of all its lines; `None` if it is absent, empty or malformed.
pub(super) fn list<'h>(headers: &'h HeaderMap, name: &str) -> Option<Vec<Member<'h>>> {
    members(headers, name, |parser, members| {
        parser.parse_list_with_visitor(members)
    })
}

/// The same of a dictionary.
pub(super) fn dictionary<'h>(headers: &'h HeaderMap, name: &str) -> Option<Vec<Member<'h>>> {
    members(headers, name, |parser, members| {
        parser.parse_dictionary_with_visitor(members)
    })
}

fn members<'h>(
    headers: &'h HeaderMap,
    name: &str,
    mut parse: impl FnMut(Parser<'h>, &mut Members<'h>) -> Result<(), Error>,
) -> Option<Vec<Member<'h>>> {
    let mut members = Members::default();
    for line in headers.get_all(name) {
        parse(Parser::new(line), &mut members).ok()?;
    }
    (!members.0.is_empty()).then_some(members.0)
}

#[derive(Default)]
struct Members<'h>(Vec<Member<'h>>);

impl<'h> ListVisitor<'h> for Members<'h> {
    type Error = Infallible;

    fn entry(&mut self) -> Result<impl EntryVisitor<'h>, Infallible> {
        self.0.push(Member::default());
        Ok(self.0.last_mut())
    }
}

impl<'h> DictionaryVisitor<'h> for Members<'h> {
    type Error = Infallible;

    fn entry(&mut self, key: &'h KeyRef) -> Result<impl EntryVisitor<'h>, Infallible> {
        self.0.push(Member {
            name: Some(key.as_str().into()),
            ..Member::default()
        });
        Ok(self.0.last_mut())
    }
}

impl<'h> ItemVisitor<'h> for &mut Member<'h> {
    type Error = Infallible;

    fn bare_item(self, item: BareItem<'h>) -> Result<impl ParameterVisitor<'h>, Infallible> {
        self.value = number(&item);
        if let Some(text) = text(item) {
            self.name.get_or_insert(text);
        }
        Ok(self)
    }
}

impl<'h> EntryVisitor<'h> for &mut Member<'h> {
    fn inner_list(self) -> Result<impl InnerListVisitor<'h>, Infallible> {
        Ok(Ignored)
    }
}

impl<'h> ParameterVisitor<'h> for &mut Member<'h> {
    type Error = Infallible;

    fn parameter(&mut self, key: &'h KeyRef, value: BareItem<'h>) -> Result<(), Infallible> {
        match key.as_str() {
            "q" => self.q = number(&value),
            "w" => self.w = number(&value),
            "r" => self.r = number(&value),
            "t" => self.t = number(&value),
            "qu" => self.unit = text(value).map_or(Unit::Other, |unit| quota_unit(&unit)),
            _ => {}
        }
        Ok(())
    }
}

fn number(item: &BareItem<'_>) -> Option<Number> {
    let thousandths = match item {
        BareItem::Integer(integer) => i64::from(*integer).saturating_mul(1000),
        BareItem::Decimal(decimal) => decimal.as_integer_scaled_1000().into(),
        _ => return None,
    };
    u64::try_from(thousandths).ok().map(Number)
}

fn text(item: BareItem<'_>) -> Option<Cow<'_, str>> {
    match item {
        BareItem::String(Cow::Borrowed(text)) => Some(text.as_str().into()),
        BareItem::String(Cow::Owned(text)) => Some(text.as_str().to_owned().into()),
        BareItem::Token(token) => Some(token.as_str().into()),
        _ => None,
    }
}

/// The quota units of draft-ietf-httpapi-ratelimit-headers-10.
fn quota_unit(name: &str) -> Unit {
    match name {
        "requests" => Unit::Requests,
        "content-bytes" => Unit::ContentBytes,
        "concurrent-requests" => Unit::ConcurrentRequests,
        _ => Unit::Other,
    }
}
