//! What users write, as it reads, on real clients.

#[path = "../support/loopback.rs"]
mod loopback;
#[path = "../support/recording.rs"]
mod recording;
#[path = "../support/mod.rs"]
mod support;

mod any_service;
mod axum_state;
mod batch;
mod grpc;
mod hyper_client;
mod overload;
mod reqwest_client;
mod reqwest_middleware;
mod scraper;
mod threads;
mod tower_http_layers;
