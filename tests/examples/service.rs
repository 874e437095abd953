//! Examples that serve until ctrl-c.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use http::StatusCode;
use reqwest::Client;

use crate::program::program;

/// Ends with the test.
pub(crate) struct Service {
    pub(crate) child: Child,
    pub(crate) told: BufReader<ChildStdout>,
    url: String,
    client: Client,
}

impl Service {
    /// Once it has said where it listens.
    pub(crate) fn start(example: &str) -> Self {
        let mut child = program(example).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        told.read_line(&mut url).unwrap();
        let _installed = rustls::crypto::ring::default_provider().install_default();
        Self {
            child,
            told,
            url: url.trim_end().to_owned(),
            client: Client::builder().no_proxy().build().unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Option<u64>, String) {
        let url = format!("{}{path}", self.url);
        let response = self.client.get(url).send().await.unwrap();
        let status = response.status();
        let wait = response.headers().get("retry-after").cloned();
        let seconds = wait.map(|wait| wait.to_str().unwrap().parse().unwrap());
        (status, seconds, response.text().await.unwrap())
    }

    /// Says ctrl-c.
    pub(crate) fn interrupt(&self) {
        let kill = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
