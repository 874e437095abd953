use std::time::Instant;

use tidegate_core::{Freshness, Keyable, Steer};

use crate::{RateHandle, RateLayer};

impl<C> Keyable for RateLayer<C> {
    type Handle = RateHandle;

    fn handle(&self) -> Self::Handle {
        self.handle()
    }

    fn freshness(&self, now: Instant) -> Freshness {
        self.handle().snapshot().freshness(now)
    }
}
