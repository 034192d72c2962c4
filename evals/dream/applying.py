"""Dreams until nothing more is proposed: all of it is applied."""

from collections import Counter

from memex.api.dreams import Dreams

MAX_DREAMS = 100


async def dream_until_none(dreams: Dreams) -> Counter[str]:
    """Apply what dreams propose until nothing more comes; return how many groups were applied by kind, or held."""
    done: Counter[str] = Counter()
    for _ in range(MAX_DREAMS):
        proposal = (await dreams.run("user")).proposal
        if proposal is None:
            break
        decided = await dreams.decide(proposal.proposal_id, "apply")
        kinds = {group.group: group.kind for group in proposal.groups}
        applied = [kinds[group.group] for group in decided.groups if group.state == "applied"]
        done.update(applied)
        done["held"] = sum(group.state == "held" for group in proposal.groups)
        if not applied:
            break
    return done
