use std::time::Instant;

use tidegate_core::{Controller, Freshness, Keyable, Steer};

use crate::{AdaptiveLayer, FeedbackHandle};

impl<C, L: Controller + 'static, H> Keyable for AdaptiveLayer<C, L, H> {
    type Handle = FeedbackHandle<L>;

    fn handle(&self) -> Self::Handle {
        self.handle()
    }

    fn freshness(&self, now: Instant) -> Freshness {
        self.handle().snapshot().freshness(now)
    }
}
