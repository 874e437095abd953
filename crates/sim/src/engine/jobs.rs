/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Served,
    Refused,
    Background,
}

/// One request on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) client: u32,
    pub(crate) in_flight_at_start: u32,
    /// When it was sent.
    pub(crate) started: u64,
    /// When it came up in an open load; otherwise when it was sent.
    pub(crate) born: u64,
    pub(crate) answer: Answer,
    /// The client no longer waits for it.
    pub(crate) abandoned: bool,
    /// Nobody will ever answer it.
    pub(crate) dropped: bool,
    /// Tells it from those that had its place before.
    pub(crate) generation: u32,
}

/// All requests on their way, each in a place that is used again.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    all: Vec<Job>,
    free: Vec<u32>,
}

impl Jobs {
    pub(crate) fn insert(&mut self, job: Job) -> u32 {
        if let Some(id) = self.free.pop() {
            let generation = self.all[id as usize].generation;
            self.all[id as usize] = Job { generation, ..job };
            return id;
        }
        self.all.push(job);
        self.all.len() as u32 - 1
    }

    pub(crate) fn get(&self, id: u32) -> &Job {
        &self.all[id as usize]
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Job {
        &mut self.all[id as usize]
    }

    pub(crate) fn remove(&mut self, id: u32) {
        let job = &mut self.all[id as usize];
        job.generation = job.generation.wrapping_add(1);
        self.free.push(id);
    }
}
