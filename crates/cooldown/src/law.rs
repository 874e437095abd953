use std::time::{Duration, Instant};

use http::StatusCode;
use tidegate_classify::{Hints, Profile, Quota, Remaining, Unit, Wait};
use tidegate_core::Pace;

use crate::Wish;

/// From what responses say about the limits of a service: when to pause, how many may be in flight
/// and how fast.
///
/// ```text
/// pause   the wait that a throttled response or a 5xx asks for; or the reset of a spent quota
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
            hints.binding().filter(|quota| quota.is_spent())?.reset
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
