use serde::Deserialize;
use toml::Spanned;

use super::at_least_zero;
use super::keys::Keys;
use super::place::Wrong;
use crate::scenario::scalar::{Number, Time, Whole};
use crate::scenario::{Dump, Load, Piece};

/// The most that may come up at once: each takes memory.
const DUMP: u32 = 10_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoadText {
    kind: Kind,
    requests: Option<Spanned<Whole>>,
    rate: Option<Spanned<Vec<PieceText>>>,
    dumps: Option<Spanned<Vec<DumpText>>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Closed,
    Batch,
    Open,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Batch => "batch",
            Self::Open => "open",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceText {
    from: Time,
    per_second: Spanned<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DumpText {
    at: Time,
    requests: Spanned<Whole>,
}

pub(super) fn read(text: Spanned<LoadText>) -> Result<Load, Wrong> {
    let span = text.span();
    let text = text.into_inner();
    let keys = Keys::new("load", text.kind.name(), span);
    keys.only("batch", "requests", text.requests.as_ref())?;
    keys.only("open", "rate", text.rate.as_ref())?;
    keys.only("open", "dumps", text.dumps.as_ref())?;
    Ok(match text.kind {
        Kind::Closed => Load::Closed,
        Kind::Batch => Load::Batch {
            requests: u64::from(keys.count("requests", text.requests.as_ref())?),
        },
        Kind::Open => Load::Open {
            rate: pieces(keys.need("rate", text.rate.as_ref())?.get_ref())?,
            dumps: dumps(text.dumps.as_ref().map_or(&[], |dumps| dumps.get_ref()))?,
        },
    })
}

fn pieces(text: &[PieceText]) -> Result<Vec<Piece>, Wrong> {
    let piece = |piece: &PieceText| {
        at_least_zero(&piece.per_second).map(|per_second| Piece {
            from: piece.from.0,
            per_second,
        })
    };
    let mut pieces = text.iter().map(piece).collect::<Result<Vec<_>, _>>()?;
    pieces.sort_by_key(|piece| piece.from);
    Ok(pieces)
}

fn dumps(text: &[DumpText]) -> Result<Vec<Dump>, Wrong> {
    let dump = |dump: &DumpText| {
        let requests = dump.requests.get_ref().0;
        if requests > DUMP {
            let words = format!("expected at most {DUMP} requests at once, not {requests}");
            return Err(Wrong::at(dump.requests.span(), words));
        }
        Ok(Dump {
            at: dump.at.0,
            requests: u64::from(requests),
        })
    };
    text.iter().map(dump).collect()
}
