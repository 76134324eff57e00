"""Saves items through Eve's own interface, versioned, and prints the stored document behind every save.

With ROUND it goes on with the items that are there: it prints the states that Eve has of each, brings an earlier one
back, and saves on.
"""

import os
import random
import time
from email.utils import format_datetime, parsedate_to_datetime

import pymongo
from bson import ObjectId, json_util
from eve import Eve

HOST, PORT = os.environ["MONGO"].partition("//")[2].partition("/")[0].split(":")
COUNT, STATES, SEED = (
    int(os.environ.get(name) or known) for name, known in (("COUNT", 12), ("STATES", 20), ("SEED", 7))
)
WORDS = ["amber", "brass", "cedar", "delta", "ember", "flint", "grove", "hazel", "größe", "東京"]
TYPES = {
    "title": "string", "price": "float", "stock": "integer", "active": "boolean", "due": "datetime",
    "tags": "list", "address": "dict", "lines": "list", "text": "string",
}  # fmt: skip
SETTINGS = {
    "MONGO_HOST": HOST,
    "MONGO_PORT": int(PORT),
    "MONGO_DBNAME": "shop",
    "MONGO_OPTIONS": {"directConnection": True, "tz_aware": True},
    "DOMAIN": {"items": {"schema": {name: {"type": kind} for name, kind in TYPES.items()}, "versioning": True}},
    "RESOURCE_METHODS": ["GET", "POST"],
    "ITEM_METHODS": ["GET", "PATCH", "DELETE"],
}

chance = random.Random(SEED)
client = Eve(settings=SETTINGS).test_client()
stored = pymongo.MongoClient(os.environ["MONGO"]).shop.items


def words(count):
    return " ".join(chance.choice(WORDS) for _ in range(count))


def date():
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(1577836800 + chance.randrange(10**8)))


def line():
    return {"sku": f"S-{chance.randrange(10**6)}", "qty": chance.randrange(1, 9)}


def change(state):
    return chance.choice([
        lambda: {"title": words(3)},
        lambda: {"price": state["price"] + 1.25},
        lambda: {"stock": state["stock"] + 1},
        lambda: {"active": not state["active"]},
        lambda: {"due": date()},
        lambda: {"tags": state["tags"] + [words(1)]},
        lambda: {"lines": state["lines"] + [line()]},
        lambda: {"lines": state["lines"][1:]},
    ])()  # fmt: skip


def tell(id, kind):
    said = {"ns": "shop.items", "id": id, "kind": kind, "state": stored.find_one({"_id": id})}
    print(json_util.dumps(said, json_options=json_util.CANONICAL_JSON_OPTIONS), flush=True)


def sent(answer):
    found = answer.get_json()
    assert found["_status"] == "OK", found
    return found


def read(address):
    return client.get(address).get_json()


def went_on():
    for id in [str(each["_id"]) for each in stored.find({}, {"_id": 1}).sort("_id")]:
        states = [
            {name: each[name] for name in TYPES if name in each}
            for each in read(f"/items/{id}?version=all&max_results=1000")["_items"]
        ]
        states = [each | {"due": parsedate_to_datetime(each["due"])} for each in states]
        row = {"ns": "shop.items", "id": ObjectId(id), "kind": "read", "state": states}
        print(json_util.dumps(row, json_options=json_util.CANONICAL_JSON_OPTIONS), flush=True)
        now = read(f"/items/{id}")
        old = chance.choice(states)
        for changed in (old | {"due": format_datetime(old["due"], usegmt=True)}, change(now)):
            etag = read(f"/items/{id}")["_etag"]
            sent(client.patch(f"/items/{id}", json=changed, headers={"If-Match": etag}))
            tell(ObjectId(id), "saved")


def wrote():
    for number in range(COUNT):
        state = {
            "title": words(3), "price": 10 + chance.randrange(1000) / 4, "stock": chance.randrange(50),
            "active": chance.random() < 0.5, "due": date(), "tags": [words(1)],
            "address": {"street": words(2), "city": words(1)}, "lines": [line(), line()], "text": words(30),
        }  # fmt: skip
        made = sent(client.post("/items", json=state))
        id, etag = ObjectId(made["_id"]), made["_etag"]
        tell(id, "created")
        for _ in range(chance.randrange(1, STATES)):
            changed = change(state)
            etag = sent(client.patch(f"/items/{id}", json=changed, headers={"If-Match": etag}))["_etag"]
            state |= changed
            tell(id, "saved")
        if number % 5 == 4:
            assert client.delete(f"/items/{id}", headers={"If-Match": etag}).status_code == 204
            tell(id, "purged")


went_on() if os.environ.get("ROUND") else wrote()
