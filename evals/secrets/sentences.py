"""Sentences in which people write down a password, a login or a PIN: English, German, French and Spanish."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memex.evals.secrets.formats import DIGITS, WORD, chars


@dataclass(frozen=True, slots=True)
class Phrases:
    """Sentences with a place for the value: those that the rules may be tuned on, and those held out."""

    tuned: Sequence[str]
    held_out: Sequence[str]


PASSWORDS: Mapping[str, Phrases] = {
    "english": Phrases(
        (
            "The wifi password is {s}.",
            "My Netflix password: {s}",
            "Password for the office router is {s}, please do not share it.",
            "I changed the password of the NAS to {s} yesterday.",
            "guest network password = {s}",
            "pw: {s}",
        ),
        (
            "For the record, the new laptop password is {s}.",
            "Our bank's online password was set to {s} last week.",
            "Use the password {s} to open the archive.",
            'The encryption passphrase is "{s}".',
            "Mum's email password is now {s}, she asked me to keep it.",
            "- admin password: `{s}`",
        ),
    ),
    "german": Phrases(
        (
            "Das WLAN-Passwort ist {s}.",
            "Passwort für den Router: {s}",
            "Mein neues Kennwort lautet {s}.",
            "Das Passwort vom Drucker ist jetzt {s}.",
            "Zugangspasswort: {s}",
            "PW: {s}",
        ),
        (
            "Ich habe das Passwort für die Cloud auf {s} geändert.",
            "Bitte merken: Kennwort fürs Büro-Notebook ist {s}.",
            "Das Gäste-WLAN hat das Passwort {s}.",
            "Netflix-Passwort: {s}",
            "Omas E-Mail-Passwort lautet {s}, bitte gut aufheben.",
            "Passwort = {s}",
        ),
    ),
    "french": Phrases(
        (
            "Le mot de passe du wifi est {s}.",
            "Mot de passe de la box : {s}",
            "mdp : {s}",
            "Mon nouveau mot de passe est {s}.",
            "Le mot de passe de l'imprimante, c'est {s}.",
            "Mot de passe : {s}",
        ),
        (
            "J'ai changé le mot de passe du NAS en {s}.",
            "Pour le compte de maman, le mot de passe est {s}.",
            "Le wifi des invités a pour mot de passe {s}.",
            "mdp Netflix : {s}",
            "Retiens que le mot de passe du portable est maintenant {s}.",
            "mot de passe = {s}",
        ),
    ),
    "spanish": Phrases(
        (
            "La contraseña del wifi es {s}.",
            "Contraseña del router: {s}",
            "Mi nueva contraseña es {s}.",
            "La contraseña de la impresora es ahora {s}.",
            "contraseña: {s}",
            "Clave del wifi: {s}",
        ),
        (
            "He cambiado la contraseña del NAS a {s}.",
            "Recuerda que la contraseña del portátil es {s}.",
            "El wifi de invitados tiene la contraseña {s}.",
            "Contraseña de Netflix: {s}",
            "La contraseña del correo de mamá ahora es {s}.",
            "contraseña = {s}",
        ),
    ),
}
LOGINS: Mapping[str, Phrases] = {
    "english": Phrases(
        (
            "Log in with ada@example.net and {s}.",
            "Login: ada / {s}",
            "username: ada, password: {s}",
            "Account at the library: user ada, password {s}",
        ),
        (
            "The login for the tax portal is ada.l with password {s}.",
            "Sign in as ada and use {s} as the password.",
            "user=ada pass={s}",
            "Credentials for staging: ada / {s}",
        ),
    ),
    "german": Phrases(
        (
            "Anmeldung mit ada@example.net und {s}.",
            "Benutzer: ada, Passwort: {s}",
            "Zugangsdaten: ada / {s}",
            "Login beim Verein: ada, Kennwort {s}",
        ),
        (
            "Die Zugangsdaten fürs Steuerportal sind ada und {s}.",
            "Benutzername ada, das Passwort dazu ist {s}.",
            "Login ada / {s}",
            "Konto bei der Bücherei: ada, Passwort {s}",
        ),
    ),
    "french": Phrases(
        (
            "Connexion avec ada@example.net et {s}.",
            "Identifiant : ada, mot de passe : {s}",
            "Identifiants : ada / {s}",
            "Compte de la bibliothèque : ada, mdp {s}",
        ),
        (
            "L'identifiant pour les impôts est ada et le mot de passe {s}.",
            "utilisateur ada, mot de passe {s}",
            "Connexion : ada / {s}",
            "Pour se connecter : ada puis {s}.",
        ),
    ),
    "spanish": Phrases(
        (
            "Usuario: ada, contraseña: {s}",
            "Acceso: ada / {s}",
            "Entra con ada@example.net y la contraseña {s}.",
            "Cuenta de la biblioteca: usuario ada, contraseña {s}",
        ),
        (
            "El usuario de hacienda es ada y la contraseña es {s}.",
            "usuario ada, contraseña {s}",
            "Credenciales: ada / {s}",
            "Inicia sesión como ada con la contraseña {s}.",
        ),
    ),
}
PINS: Mapping[str, Phrases] = {
    "english": Phrases(
        (
            "The PIN of my debit card is {n}.",
            "PIN: {n}",
            "The code for the garage door is {n}.",
            "The alarm code is {n}, and it beeps twice.",
        ),
        (
            "My phone's PIN is now {n}.",
            "Door code {n} for the office.",
            "The safe opens with {n}.",
            "The SIM card has the PIN {n}.",
        ),
    ),
    "german": Phrases(
        (
            "Die PIN meiner EC-Karte ist {n}.",
            "PIN: {n}",
            "Der Code für die Haustür ist {n}.",
            "Der Türcode lautet {n}.",
        ),
        (
            "Die Geheimzahl der Kreditkarte ist {n}.",
            "Der Alarmcode im Büro ist {n}.",
            "Die Handy-PIN lautet jetzt {n}.",
            "Der Tresor öffnet mit {n}.",
        ),
    ),
    "french": Phrases(
        (
            "Le code PIN de ma carte est {n}.",
            "Code PIN : {n}",
            "Le code de la porte est {n}.",
            "Le digicode de l'immeuble est {n}.",
        ),
        (
            "Le code secret de la carte bleue est {n}.",
            "Le code de l'alarme, c'est {n}.",
            "Code du coffre : {n}",
            "Le code PIN du téléphone est maintenant {n}.",
        ),
    ),
    "spanish": Phrases(
        (
            "El PIN de mi tarjeta es {n}.",
            "PIN: {n}",
            "El código de la puerta es {n}.",
            "El código de la alarma es {n}.",
        ),
        (
            "El código secreto de la tarjeta de crédito es {n}.",
            "La clave de la caja fuerte es {n}.",
            "Código del garaje: {n}",
            "El PIN del móvil es ahora {n}.",
        ),
    ),
}


def password(rng: random.Random) -> str:
    """Return a password as people choose them, or as programs make them."""
    word = rng.choice(["Summer", "Biene", "Rex", "Marseille", "tigre", "Hafen", "luna", "Kestrel", "bonjour"])
    shapes = (
        f"{word}{rng.randrange(1960, 2030)}!",
        f"{word}{rng.randrange(10, 9_999)}",
        f"{word.lower()}-{rng.choice(['horse', 'battery', 'staple'])}-{rng.randrange(10, 99)}",
        chars(rng, WORD, rng.randrange(8, 16)),
        chars(rng, WORD, 5) + rng.choice("!#$%&*?") + chars(rng, WORD, 5),
        f"{word[0]}{rng.randrange(10)}{word[1:]}_{rng.randrange(100, 999)}",
    )
    return rng.choice(shapes)


def pin(rng: random.Random) -> str:
    """Return a PIN of four to six digits, none that could be a year."""
    return rng.choice("3456789") + chars(rng, DIGITS, rng.choice([3, 3, 3, 5]))
