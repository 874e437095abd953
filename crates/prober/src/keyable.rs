use std::time::Instant;

use tidegate_core::{Freshness, Keyable, Steer};

use crate::{ProberHandle, ProberLayer};

impl<C, H> Keyable for ProberLayer<C, H> {
    type Handle = ProberHandle;

    fn handle(&self) -> Self::Handle {
        self.handle()
    }

    fn freshness(&self, now: Instant) -> Freshness {
        self.handle().snapshot().freshness(now)
    }
}
