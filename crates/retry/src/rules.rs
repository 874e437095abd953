use std::time::Duration;

use crate::GaveUpReason;
use crate::backoff::Backoff;

/// What to do after a failed attempt. No clock, and chance is an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) backoff: Backoff,
    /// At least 1.
    pub(crate) attempts: u32,
    pub(crate) deadline: Option<Duration>,
    /// How much must be left before the deadline for an attempt to be worth it.
    pub(crate) attempt_needs: Duration,
    pub(crate) max_hint: Duration,
}

/// An attempt that failed in a way that may pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed {
    /// 1 is the first.
    pub(crate) attempt: u32,
    /// Since the call began.
    pub(crate) elapsed: Duration,
    /// Before this attempt.
    pub(crate) waited: Option<Duration>,
    /// How long the service asked us to stay away.
    pub(crate) hint: Option<Duration>,
    pub(crate) forbids: bool,
    /// Because of what it is, or because of how it failed.
    pub(crate) may_be_repeated: bool,
    /// There is another one like it to send.
    pub(crate) is_replayable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    Retry {
        /// From the answer on.
        after: Duration,
        /// What our own back-off has in it: the next one may grow from there.
        backoff: Duration,
    },
    GiveUp(GaveUpReason),
}

impl Rules {
    /// The answer that no later one would change comes first.
    pub(crate) fn decide(&self, failed: &Failed, random: f64) -> Decision {
        let give_up = if failed.forbids {
            Some(GaveUpReason::ToldNotTo)
        } else if !failed.may_be_repeated {
            Some(GaveUpReason::MayBeProcessed)
        } else if !failed.is_replayable {
            Some(GaveUpReason::BodyNotReplayable)
        } else if failed.hint.is_some_and(|hint| hint > self.max_hint) {
            let max_hint = self.max_hint;
            Some(GaveUpReason::HintTooLong { max_hint })
        } else if failed.attempt >= self.attempts {
            let attempts = self.attempts;
            Some(GaveUpReason::Attempts { attempts })
        } else {
            None
        };
        if let Some(reason) = give_up {
            return Decision::GiveUp(reason);
        }
        let backoff = self.backoff.delay(failed.attempt, failed.waited, random);
        // Everybody was told the same moment: our own back-off comes on top.
        let after = failed.hint.unwrap_or_default().saturating_add(backoff);
        match self.too_late(failed.elapsed.saturating_add(after)) {
            Some(reason) => Decision::GiveUp(reason),
            None => Decision::Retry { after, backoff },
        }
    }

    /// Whether an attempt that begins then could not end in time. `elapsed` is since the call began.
    pub(crate) fn too_late(&self, elapsed: Duration) -> Option<GaveUpReason> {
        let deadline = self.deadline?;
        let latest = deadline.saturating_sub(self.attempt_needs);
        (elapsed >= latest).then_some(GaveUpReason::Deadline { deadline })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate_core::Units;

    use super::*;
    use crate::Jitter;

    fn rules() -> Rules {
        Rules {
            backoff: Backoff::exponential(100.ms()..5.s()).jitter(Jitter::None),
            attempts: 4,
            deadline: Some(10.s()),
            attempt_needs: Duration::ZERO,
            max_hint: 60.s(),
        }
    }

    fn failed() -> Failed {
        Failed {
            attempt: 1,
            elapsed: 0.s(),
            waited: None,
            hint: None,
            forbids: false,
            may_be_repeated: true,
            is_replayable: true,
        }
    }

    fn reason(rules: &Rules, failed: &Failed) -> Option<GaveUpReason> {
        match rules.decide(failed, 0.5) {
            Decision::GiveUp(reason) => Some(reason),
            Decision::Retry { .. } => None,
        }
    }

    #[test]
    fn a_hint_is_waited_out_and_the_back_off_comes_on_top() {
        let told = Failed {
            hint: Some(2.s()),
            ..failed()
        };
        let decision = rules().decide(&told, 0.5);
        let (after, backoff) = (2_100.ms(), 100.ms());
        assert_eq!(decision, Decision::Retry { after, backoff });
    }

    #[test]
    fn a_hint_above_the_cap_ends_it_at_once() {
        let told = |hint: Duration| Failed {
            hint: Some(hint),
            ..failed()
        };
        let rules = Rules {
            deadline: None,
            ..rules()
        };
        assert_eq!(reason(&rules, &told(60.s())), None);
        let max_hint = 60.s();
        for hint in [60_001.ms(), Duration::MAX] {
            let expected = GaveUpReason::HintTooLong { max_hint };
            assert_eq!(reason(&rules, &told(hint)), Some(expected));
        }
    }

    #[test]
    fn an_attempt_never_begins_at_the_deadline() {
        let deadline = 10.s();
        let at = |elapsed: Duration| Failed {
            elapsed,
            ..failed()
        };
        let late = Some(GaveUpReason::Deadline { deadline });
        let before = Duration::from_nanos(9_899_999_999);
        assert_eq!(reason(&rules(), &at(before)), None);
        assert_eq!(reason(&rules(), &at(9_900.ms())), late);
        let needs = Rules {
            attempt_needs: 1.s(),
            ..rules()
        };
        assert_eq!(reason(&needs, &at(8_899.ms())), None);
        assert_eq!(reason(&needs, &at(8_900.ms())), late);
    }

    #[test]
    fn what_forbids_a_retry_for_good_is_told_before_what_forbids_it_now() {
        let rules = rules();
        let mut worst = Failed {
            attempt: 4,
            elapsed: 11.s(),
            hint: Some(61.s()),
            forbids: true,
            may_be_repeated: false,
            is_replayable: false,
            ..failed()
        };
        assert_eq!(reason(&rules, &worst), Some(GaveUpReason::ToldNotTo));
        worst.forbids = false;
        assert_eq!(reason(&rules, &worst), Some(GaveUpReason::MayBeProcessed));
        worst.may_be_repeated = true;
        assert_eq!(
            reason(&rules, &worst),
            Some(GaveUpReason::BodyNotReplayable)
        );
        worst.is_replayable = true;
        let max_hint = 60.s();
        assert_eq!(
            reason(&rules, &worst),
            Some(GaveUpReason::HintTooLong { max_hint })
        );
        worst.hint = None;
        assert_eq!(
            reason(&rules, &worst),
            Some(GaveUpReason::Attempts { attempts: 4 })
        );
        worst.attempt = 3;
        let deadline = 10.s();
        assert_eq!(
            reason(&rules, &worst),
            Some(GaveUpReason::Deadline { deadline })
        );
    }

    proptest! {
        #[test]
        fn nobody_comes_back_before_the_hint_nor_at_or_after_the_deadline(
            elapsed in 0..20_000u64, hint in 0..100_000u64, attempt in 1..6u32, random in 0.0..1.0,
        ) {
            let failed = Failed {
                attempt,
                elapsed: elapsed.ms(),
                hint: Some(hint.ms()),
                ..failed()
            };
            let rules = Rules {
                backoff: Backoff::exponential(100.ms()..5.s()),
                ..rules()
            };
            if let Decision::Retry { after, .. } = rules.decide(&failed, random) {
                prop_assert!(after >= hint.ms() && elapsed.ms() + after < 10.s());
                prop_assert!(attempt < 4);
            }
        }
    }
}
