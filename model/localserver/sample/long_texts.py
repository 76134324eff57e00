"""The sample's long texts: insurance terms, survey reports and notes, all written for it."""

from __future__ import annotations

TERMS = {
    "GLASS": (
        "Panes, mirrors and glass-ceramic hobs are replaced when they break, whatever broke them. Frames and fittings "
        "are paid where they have to be cut to get the broken pane out. Scratches, blind panes and edges that came "
        "loose with age are not a break. Emergency glazing is paid up to 500 euros without asking first; keep the "
        "bill and two photographs. Solar panels count as glass up to 20 square metres. "
    ),
    "BIKE": (
        "Bicycles, trailers and parts that are fixed to them are covered against theft at home and on the way, day "
        "and night, as long as the frame was locked to something that cannot be carried off. The frame number and "
        "a receipt are enough as proof. Batteries are covered on the bicycle and while charging. Racing and hire "
        "are left out. The sum is the price of a new one of the same kind in the first two years, 70 per cent after. "
    ),
    "FLOOD": "Damage by water that rises or falls from outside. ",
    "STORM": "Damage by wind of force 8 or more, and by what the wind throws. ",
    "TRAVEL": (
        "What is taken along on a journey of up to three months is covered anywhere as it is at home, at most to a "
        "tenth of the sum insured. "
    ),
}

SURVEY = (
    "Brick, two storeys and a cellar, built 1911, roof renewed and insulated. Water pipes of copper since 1987, "
    "stop-cock in the cellar, accessible. Electricity with residual-current breaker, meter cupboard in the hall. "
    "Windows of wood with double panes, those on the ground floor lockable. Door with a five-point lock. "
    "Nearest water 420 metres away and 11 metres below; no flood on record since 1962. Heating by district heat, "
    "no open fireplace. One bicycle cellar with a steel door. The survey was made on the spot and holds for five "
    "years; what is rebuilt in between has to be told within three months. Photographs are kept with the contract. "
    "Household value after the square metre rule, no single object above 10,000 euros. Jewellery in a wall safe of "
    "grade N. Two cats. Neighbours hold a key. The caretaker is told of absences of more than 60 days. "
)
SURVEY *= 6

NOTES = (
    "",
    "Call ahead.",
    "Prefers letters.",
    "Wants to be called after six.",
    "Asked for a quote with flood cover.",
    "Complained about the last claim; be kind.",
    "Moved in with a partner, second contract possible.",
    "Sent photographs of the cellar.",
    "Left the association, loses the rebate at renewal.",
    "Pays late in summer, always pays.",
    "Roof redone 2019.",
    "Key with the neighbour on the left.",
)

REMARKS = (
    "Called in to ask what the rider covers; explained, content.",
    "Sent the new bank details by letter, signature checked.",
    "Wants the bill a week earlier next year.",
    "Reported a broken pane, settled the same day.",
    "Asked to keep the old tariff; granted until renewal.",
    "Survey on the spot: nothing to object to.",
    "Told us about the move, the new flat is larger.",
    "Second bicycle added to the list of objects.",
    "Reminder sent, paid three days later.",
    "Switched to electronic letters, confirmed by phone.",
)
