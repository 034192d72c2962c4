"""What a person pasted into a message states nothing; what stands around it does."""

from datetime import date

from memex.subagent.distil.message_text import read_text

DAY = date(2026, 4, 7)

LETTER = """What do they want from me? I have worked with Revit for years.

Dear Ms Lindqvist,
I am pleased to invite you to an interview. We use Tekla.

Kind regards,
Petra Brückner

I prefer to go on Thursday."""

LOG = """I always use uv for my environments. I get this error:

```
Traceback (most recent call last):
  File "app.py", line 12, in <module>
ModuleNotFoundError: No module named 'fastapi'
```

2026-02-14 11:02:11,120 ERROR trailhead.db I cannot open the file
2026-02-14 11:02:11,121 INFO trailhead.db We use :memory:

$ sudo chown mara /var/lib/trailhead.db
git push origin main"""


def test_a_message_states_only_what_its_writer_says() -> None:
    """Letters, logs, traces of errors, commands, single words and roles are skipped; nothing beside them is."""
    for text, stated in (
        (LETTER, ["I have worked with Revit for years.", "I prefer to go on Thursday."]),
        (LOG, ["I always use uv for my environments."]),
        ("You are the interviewer. I live in Leipzig. Good.", ["I live in Leipzig."]),
        ("Hello,\nI live in Leipzig.", ["I live in Leipzig."]),
        (
            "Error handling: we use result types.\n\n2026-06-13 09:00 we hand over the keys.",
            ["Error handling: we use result types.", "2026-06-13 09:00 we hand over the keys."],
        ),
        ("You are right, we use Postgres.", ["You are right, we use Postgres."]),
    ):
        reading = read_text(text, DAY)

        assert [one.text for one in reading.extraction.statements] == stated
