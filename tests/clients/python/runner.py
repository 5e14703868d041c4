"""Runs the checks of a suite, and tells what came of them."""

import asyncio
import sys
import traceback

# Longer than any check takes: what hangs fails.
LONGEST = 40


def equal(found, wanted, what=""):
    assert found == wanted, f"{what or 'value'}: found {found!r}, wanted {wanted!r}"


async def run(column, checks, suite_of):
    """Every check of a column, one after the other: a line for each, and whether all passed."""
    lines, passed = [], True
    for name, check in checks:
        suite, result = suite_of(), "ok"
        try:
            async with asyncio.timeout(LONGEST):
                await suite.start()
                await check(suite)
        except Exception:
            passed, result = False, "FAILED"
            suite.failed = True
            print(f"{column}, {name}:\n{traceback.format_exc()}", file=sys.stderr)
        finally:
            await suite.stop()
        print(f"{result:6}  {column}  {name}", flush=True)
        lines.append(f"{column}\t{name}\t{result}\n")
    return lines, passed


async def main(sdk, checks, suite_class):
    """`checks` are those of each binding. The command line names the file of results, and one URL or two."""
    results, *urls = sys.argv[1:]
    urls = [url.rstrip("/") for url in urls]
    # At the same time: most of it is waiting.
    runs = await asyncio.gather(
        *(
            run(f"{sdk} {binding.value}", those, lambda binding=binding: suite_class(binding, urls))
            for binding, those in checks.items()
        )
    )
    with open(results, "a", encoding="utf-8") as out:
        out.writelines(line for lines, _ in runs for line in lines)
    return 0 if all(passed for _, passed in runs) else 1
