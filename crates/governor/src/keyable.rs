use std::time::Instant;

use tidegate_core::{Freshness, Keyable, Steer};

use crate::{GovernorHandle, GovernorLayer};

impl<C, H> Keyable for GovernorLayer<C, H> {
    type Handle = GovernorHandle;

    fn handle(&self) -> Self::Handle {
        self.handle()
    }

    fn freshness(&self, now: Instant) -> Freshness {
        self.handle().snapshot().freshness(now)
    }
}
