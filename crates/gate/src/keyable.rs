use std::time::Instant;

use tidegate_core::{Freshness, Keyable, Steer};

use crate::{GateHandle, GateLayer};

impl<H> Keyable for GateLayer<H> {
    type Handle = GateHandle;

    fn handle(&self) -> Self::Handle {
        self.handle()
    }

    fn freshness(&self, now: Instant) -> Freshness {
        self.handle().snapshot().freshness(now)
    }
}
