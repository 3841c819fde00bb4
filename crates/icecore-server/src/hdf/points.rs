//! Elements at points, and selections too long for a URL: `POST …/value`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use serde_json::Value;

use super::object::opened;
use super::select::{Reading, wants_bytes};
use super::{point_values, query, reply, value};
use crate::app::App;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;

/// Parsed body of a request.
enum Asked {
    /// Coordinates, one point after another.
    Points(Vec<u64>),
    Select(String),
}

pub(super) async fn post(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
    body: Bytes,
) -> Answer {
    let (domain, dataset) = opened(&app, &id, &params).await?;
    let rank = dataset.view.meta().shape.len();
    let reading = Reading::new(Arc::clone(&app), domain, dataset, &params)?;
    match asked(&headers, &body, rank)? {
        Asked::Select(text) => {
            let picks = reading.picks(Some(&text))?;
            match params.get("query") {
                Some(clause) => query::elements(reading, picks, clause.to_owned(), &headers, &params).await,
                None => value::values(reading, picks, &headers, &params).await,
            }
        }
        Asked::Points(coordinates) => {
            let limit = app.config.limits.points;
            let count = (coordinates.len() / rank.max(1)) as u64;
            if count > limit {
                return Err(Failure::too_large(
                    format!("{count} points; at most {limit} are read"),
                    "ask for fewer points at a time",
                ));
            }
            let as_bytes = wants_bytes(&headers);
            app.blocking(move || point_values::read(&reading, &coordinates, &[count], as_bytes)).await
        }
    }
}

fn asked(headers: &HeaderMap, body: &[u8], rank: usize) -> Answer<Asked> {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
    if rank == 0 {
        return Err(Failure::invalid("a dataset of a single element has no points", "GET its value"));
    }
    if kind == b"application/octet-stream" {
        let (words, rest) = body.as_chunks::<8>();
        if !rest.is_empty() || words.len() % rank != 0 {
            return Err(Failure::invalid(
                format!("{} bytes: not a whole number of points of {rank} coordinates", body.len()),
                "send 8 bytes a coordinate, little-endian, point by point",
            ));
        }
        return Ok(Asked::Points(words.iter().map(|word| u64::from_le_bytes(*word)).collect()));
    }
    let json = reply::json_body(body)?;
    if let Some(text) = json.get("select").and_then(Value::as_str) {
        return Ok(Asked::Select(text.to_owned()));
    }
    let points = json.get("points").and_then(Value::as_array).ok_or_else(|| {
        Failure::invalid(
            "the body has neither points nor select",
            "send {\"points\": [[…], …]} or {\"select\": \"[…]\"}",
        )
    })?;
    Ok(Asked::Points(coordinates(points, rank)?))
}

/// The coordinates of points, one after another.
pub(super) fn coordinates(points: &[Value], rank: usize) -> Answer<Vec<u64>> {
    let mut coordinates = Vec::with_capacity(points.len().saturating_mul(rank));
    for point in points {
        let found: Option<Vec<u64>> = match point.as_array() {
            Some(axes) => axes.iter().map(Value::as_u64).collect(),
            None => point.as_u64().map(|at| vec![at]),
        };
        let found = found.filter(|found| found.len() == rank).ok_or_else(|| {
            let text: String = point.to_string().chars().take(60).collect();
            Failure::invalid(format!("the point {text} does not have {rank} coordinates"), "whole numbers, 0 or more")
        })?;
        coordinates.extend(found);
    }
    Ok(coordinates)
}
