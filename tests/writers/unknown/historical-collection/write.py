"""Patches users through historical-collection, which keeps what each patch changed, and prints each state."""

import os
import random

import pymongo
from bson import json_util
from historical_collection.historical import HistoricalCollection

random = random.Random(int(os.environ["SEED"]))


class Users(HistoricalCollection):
    """Users, told apart by their name."""

    PK_FIELDS = ("username",)


users = Users(database=pymongo.MongoClient(os.environ["MONGO"]).get_default_database(), name="users")
for number in range(int(os.environ["COUNT"])):
    for _ in range(random.randrange(2, int(os.environ["STATES"]) + 2)):
        state = {
            "username": f"user {number}",
            "score": random.randrange(9),
            "email": f"{random.randrange(5)}@example.org",
        }
        state |= {"color": "blue"} if random.random() < 0.5 else {}
        users.patch_one(dict(state))
        told = {"ns": "shop.users", "id": state["username"], "kind": "saved", "state": state}
        print(json_util.dumps(told, json_options=json_util.CANONICAL_JSON_OPTIONS))
