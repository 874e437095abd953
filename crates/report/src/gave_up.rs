use std::fmt;

/// How many calls a retry gave up, by why.
#[derive(Clone, Debug, Default)]
pub(crate) struct GaveUps(Vec<(&'static str, u32)>);

/// More reasons than there are; what comes beyond them is one more.
const MOST: usize = 15;

impl GaveUps {
    pub(crate) fn count(&mut self, why: &'static str) {
        let is_known = self.0.iter().any(|(known, _)| *known == why);
        let why = if is_known || self.0.len() < MOST {
            why
        } else {
            "other"
        };
        match self.0.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.0.push((why, 1)),
        }
    }
}

/// `3 hint too long, 1 budget`
impl fmt::Display for GaveUps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (why, count)) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{count} {}", why.replace('_', " "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_reasons_than_there_are_take_no_more_room() {
        let mut gave_up = GaveUps::default();
        for number in 0..100 {
            gave_up.count(Box::leak(format!("reason_{number}").into_boxed_str()));
        }
        gave_up.count("reason_3");
        assert_eq!(gave_up.0.len(), 16);
        let shown = gave_up.to_string();
        assert!(shown.contains(", 2 reason 3, "), "{shown}");
        assert!(shown.ends_with(", 85 other"), "{shown}");
    }
}
