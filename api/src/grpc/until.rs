//! A request that is over once the process ends, whatever its client still means to say.
//!
//! Reflection answers question after question on one stream, and tools keep it open while they think. Its client is answered what it has
//! asked, and the stream ends as if the client had ended it; otherwise every shutdown would wait for such a tool as long as it may.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use crate::app::Shared;

/// The body of a request, up to shutdown.
pub(crate) struct Until {
    body: Incoming,
    end: BoxFuture<'static, ()>,
    over: bool,
}

impl Until {
    pub(crate) fn drained(shared: Arc<Shared>, body: Incoming) -> Until {
        Until { body, end: Box::pin(async move { shared.drained().await }), over: false }
    }
}

impl Body for Until {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() && self.end.as_mut().poll(context).is_ready() {
            self.over = true;
            return Poll::Ready(None);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
