"""Where sentences end, in eight languages."""

from functools import partial

from tests.kit.growth import LINEAR, growth

from memex.subagent.statements import language
from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.sentences import split_sentences

PARAGRAPHS = [
    ["The shop is at 12 St. Mary's Rd. near the pier.", "It opens at 9 a.m. on weekdays."],
    ["Dr. Lee moved to Flat No. 4.", "She pays approx. 900 a month."],
    ["Ask Prof. K. Ito re. the grant.", "He is in bldg. C until Dec. 3."],
    ["The company is Smith & Co. Ltd. in Leeds.", "We met in Jan. 2024."],
    ["Is it open?", "Yes, since Sept. 1st."],
    ["Wir wohnen in der Bahnhofstr. 7 in Graz.", "Der Schlüssel liegt bei Fr. Huber."],
    ["Am 7.3. ist der Termin bei Dr. Maier.", "Bitte um ca. 9 Uhr kommen."],
    ["Das kostet inkl. MwSt. 40 Euro.", "Die Rechnung Nr. 12 kommt am 3. April."],
    ["Der Vertrag läuft bis 31.12. und wird z. B. nicht verlängert.", "Das sagt Hr. Moser."],
    ["Siehe Abs. 4 bzw. S. 12 f. im Handbuch.", "Der Rest ist klar."],
    ["Rendez-vous le 14 févr. à 9 h chez le Dr. Blanc.", "Apporter la carte."],
    ["Mme. Roux arrive env. à 8 h.", "Le dossier n. 45 est prêt."],
    ["La réunion est p. ex. mardi.", "Elle dure 2 h. max. selon Luc."],
    ["La Sra. Gil vive en la Avda. Goya 3.", "Paga aprox. 700 euros."],
    ["El Dr. Paz atiende el 5 de feb. a las 9.", "La pág. 12 explica el resto."],
    ["Nos vemos en EE. UU. este verano.", "El vuelo sale a las 7 a. m. del lunes."],
    ["Il Sig. Rossi abita in p.za Dante n. 5.", "Arriva il 3 genn. con il treno."],
    ["La Dott.ssa Bianchi riceve ca. alle 10.", "L'avv. Neri scrive domani."],
    ["O Sr. Silva mora na Av. Brasil n.º 20.", "Ele paga aprox. 500 euros."],
    ["A Dra. Costa atende no dia 4 de fev. à tarde.", "A pág. 3 está em falta."],
    ["Dhr. de Vries woont aan de Kerkstr. 9.", "Hij betaalt ca. 800 euro p. mnd."],
    ["Mevr. Bakker komt a.s. maandag om 9 u. langs.", "Zie blz. 4 voor de rest."],
    ["Pan Nowak mieszka przy ul. Długiej 5.", "Płaci ok. 900 zł za m-c."],
    ["Spotkanie jest o godz. 9 u dr. Kowalskiej.", "Zob. str. 12 tego dokumentu."],
    ["Lo spettacolo è il 7 sett. alle 21.", "Costa ca. 20 euro."],
    ["Der Kurs beginnt am 2. Mai um 18.30 Uhr.", "Er dauert 90 Min. pro Abend."],
    ["Version 2.4. is out.", "It fixes no. 7 on the list."],
    ["We pay 3.5 percent.", "Then 4."],
    ["Le loyer est de 800 €/mois.", "On paie le 1er janv. de chaque année."],
    ["Call me e.g. on Tue. morning.", "I.e. before ten."],
    ["Does Ana know?", "The plumber comes at ten."],
    ['He asked: "Who goes?" and left.', "Nobody went."],
    ["Vivo en la C. Mayor n.º 4.", "¿Vienes el lun. o el mar.?"],
    ["Kun je a.u.b. komen?", "De sleutel ligt bij mevr. Jansen."],
    ["Il negozio chiude alle 19 ca. di sera.", "Lo gestisce la sig.ra Verdi."],
    ["Die Fa. Huber liefert lt. Vertrag am Fr. um 8.", "Wir zahlen danach."],
    ["Gov. Smith spoke for approx. ten minutes.", "Nobody asked anything."],
    ["The fee is 30 USD incl. tax.", "Pay at the desk, i.e. not online."],
    ["Meet Capt. Jones at Pier No. 9.", "Bring a coat."],
    ["Wir treffen uns am 12.9. um 17 Uhr.", "Das ist ein Sa. im Herbst."],
    ["Die Miete beträgt mtl. 900 Euro zzgl. Nebenkosten.", "Sie ist am 1. fällig."],
    ["Dipl.-Ing. Horn prüft das Dach.", "Er kommt evtl. am 5. Okt. vorbei."],
    ["Le bureau est au 12 bd. Voltaire.", "On y va vers 9 h env. en bus."],
    ["Le colis part le 3 nov. de Lyon.", "Il pèse 2 kg max. selon eux."],
    ["La cita es el 9 de oct. a las 12.", "Trae la tarjeta, p. ej. la azul."],
    ["Il dott. Conti è in v.le Roma 3.", "Riceve il lun. dalle 9."],
    ["O Eng. Matos trabalha na R. Augusta n.º 7.", "Ele sai às 18 h."],
    ["De hr. Smit belt om ca. 10 uur.", "Het huis staat op de Markt nr. 3."],
    ["Pani mgr Lis pracuje przy al. Róż 2.", "Przyjdź o 9."],
    ["Can we swim?", "The pool opens at 7."],
    ["Wann kommt der Zug?", "Gleis 4 ist gesperrt."],
    ["Ça marche ?", "Le train part à 8 h 10."],
    ["We live in Washington, D.C. since 2019.", "It is hot."],
    ["J. R. R. Tolkien wrote it.", "I read it twice."],
    ["The ratio is 3:1.", "It rose by 4.5 pts. in May."],
    ["Vol. 2 and vol. 3 are lost.", "Ch. 4 is here."],
    ["Is the pool open on Sundays?", "The card is in the car."],
]


def test_sentences_end_where_they_do() -> None:
    """Abbreviations, initials, ordinals and dates end no sentence, in English, German, French, Spanish and more."""
    tables = language.load("en")

    for sentences in PARAGRAPHS:
        text = " ".join(sentences)
        assert [text[start:end] for start, end in split_sentences(text, tables)] == sentences


def test_words_that_yaml_takes_for_true_and_false_are_words() -> None:
    """`on`, `no` and `yes` are words of English; a line that begins with one carries the sentence on."""
    english = language.load("en")

    assert {"on", "no", "yes"} <= english.sentence_openers
    assert "on" in english.continuations
    assert all(isinstance(word, str) for word in english.sentence_openers | english.continuations)


def test_question_is_skipped_alone() -> None:
    """What stands before and behind a question is read; a sentence that only begins like one is none."""
    reading = extract_statements("The hall is booked. Who has the key? Lee locks up at ten.")
    assert [one.text for one in reading.statements] == ["The hall is booked.", "Lee locks up at ten."]

    kept = "What Omar needs is a van. When we moved, Ana kept the cat. Why he left is known to Kim."
    assert len(extract_statements(kept).statements) == 3


def test_casual_small_letters_begin_sentences() -> None:
    """Who writes without capitals ends sentences all the same."""
    text = "we met at the door. he is 74 and well. list of guests follows."

    tables = language.load("en")
    assert len(list(split_sentences(text, tables))) == 3


def test_splitting_takes_linear_time() -> None:
    """Four times the characters take about four times as long."""
    for seed in ("1. a ", "Nr. 4 ", "a. ", "x: 1. y 2. z "):

        def splitting(size: int, seed: str = seed) -> partial[object]:
            return partial(extract_statements, (seed * size)[:size])

        assert growth(splitting, 5_000) < LINEAR
