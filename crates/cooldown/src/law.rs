use std::time::{Duration, Instant};

use http::StatusCode;
use tidegate_classify::{Hints, Profile, Quota, Remaining, Unit, Wait};
use tidegate_core::Pace;

use crate::Wish;

/// From what responses say about the limits of a service: when to pause, how many may be in flight
/// and how fast.
///
/// ```text
/// pause   the wait that a throttled response or a 5xx asks for; or the reset of a spent quota,
///         over the limit of requests where a quota fills all the time and the reset is when it is full
/// limit   min over the quotas of requests of what remains, since all in flight may not be counted yet;
///         and of how many there may be at one time
/// pace    min over those whose window is at most a minute of limit / window,
///         with a burst of what remained when it was first heard of, less those in flight
/// ```
///
/// What remains is the least that was heard of within one window, so that responses may come in any
/// order; see [`Remaining`].
///
/// A window of an hour sets no pace: who needs a hundred of 5,000 now would wait a minute for nothing.
#[derive(Debug)]
pub struct Law {
    profile: Profile,
    quotas: Vec<Known>,
    /// How many there may be at one time.
    at_once: Option<u64>,
    /// How many were throttled without a word since the last success.
    silent: u32,
    /// The end of the last pause of our own.
    invented_until: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    name: Option<Box<str>>,
    remaining: Remaining,
    pace: Option<Pace>,
}

/// More quotas of one service are not followed.
const MOST: usize = 16;
/// Of our own; eight times as long at most: a second.
const SHORTEST_INVENTED: Duration = Duration::from_millis(125);
/// Longer windows set no pace.
const LONGEST_PACED: Duration = Duration::from_secs(60);

impl Law {
    /// Nothing heard yet.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            quotas: Vec::new(),
            at_once: None,
            silent: 0,
            invented_until: None,
        }
    }

    /// A response said this, received at `now` with so many others in flight. Returns for how long
    /// everybody is to stay away.
    pub fn on_response(
        &mut self,
        now: Instant,
        others: usize,
        status: StatusCode,
        hints: &Hints,
    ) -> Option<Wait> {
        for quota in &hints.quotas {
            match quota.unit {
                Unit::Requests => {
                    if let Some(known) = self.known(quota) {
                        known.remaining.observe(now, quota);
                        known.hear_pace(others, quota);
                    }
                }
                Unit::ConcurrentRequests => self.at_once = quota.limit,
                _ => {}
            }
        }
        if self.profile.throttles(status, hints) {
            let said = hints.wait().map(Wait::Said);
            return said.or_else(|| self.invent(now));
        }
        if status.is_success() {
            self.silent = 0;
        }
        let wait = if status.is_server_error() {
            hints.wait()
        } else {
            // What asks for a wait otherwise asks it of this caller: to poll again, to follow.
            self.until_more(hints)
        };
        wait.filter(|wait| !wait.is_zero()).map(Wait::Said)
    }

    /// How the door is to stand at `now`.
    pub fn wish(&self, now: Instant) -> Wish {
        let remain = self
            .quotas
            .iter()
            .filter_map(|known| known.remaining.at(now));
        let least = remain.chain(self.at_once).min();
        let paces = self.quotas.iter().filter_map(|known| known.pace);
        Wish {
            limit: least.map(|least| usize::try_from(least).unwrap_or(usize::MAX)),
            pace: paces.min_by(|a, b| a.rate().total_cmp(&b.rate())),
        }
    }

    /// Whether a success would end a row of those that were throttled without a word.
    pub fn awaits_success(&self) -> bool {
        self.silent > 0
    }

    /// When a quota that is spent has something again: one that fills all the time has its part for one
    /// request long before it is whole.
    fn until_more(&self, hints: &Hints) -> Option<Duration> {
        let spent = hints.binding().filter(|quota| quota.is_spent())?;
        let reset = spent.reset?;
        if !self.profile.fills_evenly() {
            return Some(reset);
        }
        let requests = |quota: &&Quota| quota.unit == Unit::Requests;
        let limits = hints.quotas.iter().filter(requests);
        let least = limits.filter_map(|quota| quota.limit).min();
        let parts = least.map_or(1, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
        Some(reset / parts.max(1))
    }

    fn known(&mut self, quota: &Quota) -> Option<&mut Known> {
        let mut known = self.quotas.iter();
        let place = known.position(|known| known.name == quota.name);
        if place.is_none() && self.quotas.len() < MOST {
            self.quotas.push(Known {
                name: quota.name.clone(),
                remaining: Remaining::default(),
                pace: None,
            });
        }
        match place {
            Some(place) => self.quotas.get_mut(place),
            None => self
                .quotas
                .last_mut()
                .filter(|last| last.name == quota.name),
        }
    }

    /// A wait of our own. One alone may be that caller's fault; those that were in flight together
    /// count once.
    fn invent(&mut self, now: Instant) -> Option<Wait> {
        if self.invented_until.is_some_and(|until| until > now) {
            return None;
        }
        self.silent = self.silent.saturating_add(1);
        let doublings = self.silent.checked_sub(2)?.min(3);
        let wait = SHORTEST_INVENTED * (1 << doublings);
        self.invented_until = now.checked_add(wait);
        Some(Wait::Invented(wait))
    }
}

impl Known {
    /// The burst is what was left when it was first heard of: the bucket of the service held that much.
    fn hear_pace(&mut self, others: usize, quota: &Quota) {
        let (Some(limit), Some(window)) = (quota.limit, quota.window) else {
            return;
        };
        if window > LONGEST_PACED {
            return;
        }
        if let Ok(pace) = Pace::try_per(limit as f64, window) {
            let free = quota.remaining.unwrap_or(1).saturating_sub(others as u64);
            let first = u32::try_from(free).unwrap_or(u32::MAX).max(1);
            let burst = self.pace.map_or(first, |known| known.bucket());
            self.pace = Some(pace.burst(burst));
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::{per_minute, per_second};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn origin() -> Instant {
        #[expect(
            clippy::disallowed_methods,
            reason = "an origin for instants by addition"
        )]
        Instant::now()
    }

    fn quota(name: &str, limit: u64, remaining: u64, window: Duration) -> Quota {
        Quota {
            name: Some(name.into()),
            limit: Some(limit),
            remaining: Some(remaining),
            reset: Some(window),
            window: Some(window),
            unit: Unit::Requests,
        }
    }

    fn hear(law: &mut Law, now: Instant, status: u16, quotas: &[Quota]) -> Option<Wait> {
        let hints = Hints {
            quotas: quotas.into(),
            ..Hints::default()
        };
        law.on_response(now, 15, StatusCode::from_u16(status).unwrap(), &hints)
    }

    #[test]
    fn a_short_window_sets_a_pace_whose_burst_was_left_and_is_not_on_its_way() {
        let (now, mut law) = (origin(), Law::new(Profile::Ietf));
        hear(&mut law, now, 200, &[quota("rate", 200, 19, SECOND)]);
        assert_eq!(law.wish(now).pace, Some(per_second(200.0).burst(4)));
        // It is the burst of the bucket there, whatever is left later.
        hear(&mut law, now, 200, &[quota("rate", 100, 90, SECOND)]);
        assert_eq!(law.wish(now).pace, Some(per_second(100.0).burst(4)));
    }

    #[test]
    fn an_hour_sets_no_pace_and_of_several_windows_the_slowest_does() {
        let (now, mut law) = (origin(), Law::new(Profile::Ietf));
        hear(&mut law, now, 200, &[quota("hour", 10, 9, 3_600 * SECOND)]);
        assert_eq!(law.wish(now).pace, None);
        let both = [
            quota("second", 9, 9, SECOND),
            quota("minute", 60, 9, 60 * SECOND),
        ];
        hear(&mut law, now, 200, &both);
        assert_eq!(law.wish(now).pace, Some(per_minute(60.0)));
    }

    #[test]
    fn no_more_may_be_in_flight_than_remain_of_any_quota_until_its_reset() {
        let (now, mut law) = (origin(), Law::new(Profile::Ietf));
        let both = [
            quota("burst", 9, 7, SECOND),
            quota("daily", 99, 3, 90 * SECOND),
        ];
        hear(&mut law, now, 200, &both);
        let limit = |law: &Law, seconds| law.wish(now + seconds * SECOND).limit;
        assert_eq!(
            [0, 1, 89, 90].map(|at| limit(&law, at)),
            [Some(3), Some(3), Some(3), None]
        );
        let mut at_once = quota("parallel", 5, 5, SECOND);
        at_once.unit = Unit::ConcurrentRequests;
        hear(&mut law, now, 200, &[at_once]);
        assert_eq!([89, 90].map(|at| limit(&law, at)), [Some(3), Some(5)]);
    }

    #[test]
    fn what_counts_something_else_than_requests_only_pauses() {
        let (now, mut law) = (origin(), Law::new(Profile::OpenAi));
        let mut tokens = quota("tokens", 9, 1, SECOND);
        tokens.unit = Unit::Tokens;
        assert_eq!(hear(&mut law, now, 200, &[tokens.clone()]), None);
        assert_eq!(law.wish(now), Wish::default());
        tokens.remaining = Some(0);
        assert_eq!(
            hear(&mut law, now, 200, &[tokens]),
            Some(Wait::Said(SECOND))
        );
    }

    #[test]
    fn what_fills_all_the_time_is_waited_for_until_there_is_enough_for_one_request() {
        let mut tokens = quota("tokens", 150_000, 0, 60 * SECOND);
        tokens.unit = Unit::Tokens;
        let requests = |remaining| quota("requests", 60, remaining, 60 * SECOND);
        for (profile, status, remaining, waits) in [
            (Profile::OpenAi, 200, 59, SECOND),
            (Profile::OpenAi, 200, 0, SECOND),
            (Profile::Ietf, 200, 59, 60 * SECOND),
            // It was more than there is.
            (Profile::OpenAi, 429, 59, 60 * SECOND),
        ] {
            let mut law = Law::new(profile);
            let said = [requests(remaining), tokens.clone()];
            let wait = hear(&mut law, origin(), status, &said);
            assert_eq!(wait, Some(Wait::Said(waits)), "{profile:?}, {status}");
        }
    }

    #[test]
    fn a_wait_of_our_own_begins_with_the_second_in_a_row_doubles_and_ends_with_a_success() {
        let (now, mut law) = (origin(), Law::new(Profile::GitHub));
        let waits = |law: &mut Law, from: u32, count: u32| {
            let waits = (0..count).map(|at| hear(law, now + (from + 2 * at) * SECOND, 429, &[]));
            let millis = waits.map(|wait| match wait {
                Some(Wait::Invented(wait)) => wait.as_millis(),
                Some(Wait::Said(_)) => panic!("nobody said so"),
                None => 0,
            });
            millis.collect::<Vec<_>>()
        };
        assert_eq!(
            waits(&mut law, 0, 7),
            [0, 125, 250, 500, 1_000, 1_000, 1_000]
        );
        hear(&mut law, now, 200, &[]);
        assert!(!law.awaits_success());
        assert_eq!(waits(&mut law, 60, 2), [0, 125]);
        // Those that were in flight together.
        let at = now + 62 * SECOND;
        assert_eq!(hear(&mut law, at, 429, &[]), None);
    }

    #[test]
    fn a_service_with_a_million_quotas_takes_the_memory_of_a_few() {
        let (now, mut law) = (origin(), Law::new(Profile::Ietf));
        for name in 0..1_000 {
            hear(
                &mut law,
                now,
                200,
                &[quota(&name.to_string(), 9, 5, SECOND)],
            );
        }
        assert_eq!(law.quotas.len(), MOST);
    }
}
