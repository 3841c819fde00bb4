"""``icecore reframe``: write channels as long, compressed frame files."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import Json, Progress, StorageOption, emit, print_stderr, settings

EXAMPLES = (
    "icecore reframe icecore-demo/frames -o long --seconds 64 --compress zero-suppress",
    "icecore reframe icecore-demo/demo.icecore -o trends --trend second --channels 'H1:*'",
)


def reframe(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SRC...", help="Frame files, directories, globs or lists; or one repository."),
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Directory of the files.")],
    seconds: Annotated[
        float | None,
        typer.Option(metavar="N", help="Length of a frame; default: 128, trends an hour or a day."),
    ] = None,
    compress: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="raw, gzip, diff-gzip, zero-suppress, or best: the smallest for each channel and frame.",
        ),
    ] = "best",
    channels: Annotated[
        list[str] | None,
        typer.Option("--channels", metavar="PATTERN", help="Only these, as H1:*STRAIN; may be repeated."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Leave these out.")
    ] = None,
    start: Annotated[str | None, typer.Option(help="GPS seconds, or UTC as 2015-09-14T09:50:29.")] = None,
    stop: Annotated[str | None, typer.Option(help="The end, not included.")] = None,
    trend: Annotated[
        str | None,
        typer.Option(metavar="second|minute", help="Write trends of the channels instead of samples."),
    ] = None,
    description: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Second part of the names: H-TEXT-GPS-SECONDS.gwf."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing files.")] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Write channels as long, compressed frame files.

    Each file has one frame with table of contents, checksums and history (GWF version 8). Frames end where a
    channel begins or ends; samples are stored bit for bit.
    """
    from icecore.frames.reframe import reframe as run

    with Progress("reframe") as progress:
        done = run(
            sources,
            output,
            seconds,
            compress,
            channels=channels,
            exclude=exclude,
            start=start,
            stop=stop,
            trend=trend,
            description=description,
            replace=replace,
            storage=settings(storage),
            progress=progress,
        )
    for path, why in done.skipped:
        print_stderr(f"icecore: left out {path}: {why}")
    facts = {
        "files": done.files,
        "channels": done.channels,
        "samples_bytes": done.samples,
        "file_bytes": done.bytes,
        "vectors": dict(done.modes),
        "skipped": [list(each) for each in done.skipped],
    }
    emit(facts, json, str(done))
