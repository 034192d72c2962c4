"""Eight facts of an invented person, each with a question in other words and what the answer must hold. Pure."""

from typing import NamedTuple


class FreshFact(NamedTuple):
    """A fact to tell, the question right after the answer, and the words that a context must hold."""

    text: str
    question: str
    key: str


FACTS = (
    FreshFact("I parked the car on level 4 of the Brunnhof garage.", "Where is the car parked?", "level 4"),
    FreshFact("My sister Ilka moved to Tartu last week.", "Which town does my sister live in now?", "Tartu"),
    FreshFact("The deposit for the hall is 340 euros.", "How much is the deposit for the hall?", "340 euros"),
    FreshFact("We decided to print the programme on blue paper.", "What paper do we print on?", "blue paper"),
    FreshFact("I cannot eat walnuts any more.", "Which nuts must I not eat?", "walnuts"),
    FreshFact("The plumber comes on Thursday at seven.", "When does the plumber come?", "Thursday at seven"),
    FreshFact("The spare key hangs behind the boiler.", "Where is the spare key?", "behind the boiler"),
    FreshFact("Our new wifi name is Heron Lake.", "What is the name of our wifi?", "Heron Lake"),
)
