use crate::{Fault, Response};

/// What a [script](crate::UpstreamBuilder::script) says to a request. Made from a [`Response`], a
/// [`Fault`], or an `Option` of either.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "it is made once for a request and moved once"
)]
pub enum Act {
    /// It is treated like all others.
    #[default]
    AsUsual,
    /// A worker takes it as usual, and gives this response.
    Answer(Response),
    /// This goes wrong with it.
    Fault(Fault),
}

impl From<Response> for Act {
    fn from(response: Response) -> Self {
        Self::Answer(response)
    }
}

impl From<Fault> for Act {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<T: Into<Self>> From<Option<T>> for Act {
    fn from(act: Option<T>) -> Self {
        act.map_or(Self::AsUsual, Into::into)
    }
}
