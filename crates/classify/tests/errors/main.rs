//! What real errors of real clients say, produced over loopback.

mod frames;
mod grpc;
mod http1;
mod http2;
mod support;
mod wrapped;
