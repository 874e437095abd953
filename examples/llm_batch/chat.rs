//! What is sent, and what is answered: so much of OpenAI's chat completions as is needed here.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Prompt {
    pub(crate) messages: Vec<Message>,
    /// How long the answer may be at most.
    pub(crate) max_tokens: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) role: String,
    pub(crate) content: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Completion {
    pub(crate) choices: Vec<Choice>,
    /// An error has none.
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Choice {
    pub(crate) message: Message,
}

/// Of tokens.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: u32,
    pub(crate) completion_tokens: u32,
    pub(crate) total_tokens: u32,
}

impl Prompt {
    /// In tokens: four characters of English are one, about.
    pub(crate) fn length(&self) -> u32 {
        let messages = self.messages.iter();
        let length: usize = messages.map(|message| message.content.len()).sum();
        (length / 4) as u32
    }

    /// What it may cost, before the length of its answer is known: as OpenAI reckons, by its guide to rate
    /// limits.
    pub(crate) fn estimate(&self) -> u32 {
        self.length().max(self.max_tokens)
    }
}

impl Message {
    pub(crate) fn new(role: &str, content: String) -> Self {
        Self {
            role: role.into(),
            content,
        }
    }
}

/// Questions about documents of very different lengths: most are short, one in twenty is three times
/// the mean.
pub(crate) fn prompts(count: u32) -> impl Iterator<Item = Prompt> {
    const MEAN: f64 = 700.0;
    /// Its multiples are spread evenly.
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    (1..=count).map(|nth| {
        let share = (f64::from(nth) * GOLDEN).fract();
        let tokens = (-MEAN * (1.0 - share).ln()).ceil();
        Prompt {
            messages: vec![Message::new("user", "word".repeat(tokens as usize))],
            max_tokens: 2_000,
        }
    })
}
