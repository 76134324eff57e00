"""Saves items through MongoEngine, each change of which mongoengine-history records."""

import os
import random
from typing import ClassVar

import mongoengine
from mongoengine import signals
from mongoengine_history import DocumentTrack, track_changes

random = random.Random(int(os.environ["SEED"]))


class Item(mongoengine.Document):
    """An item of a shop."""

    meta: ClassVar = {"collection": "items"}
    title = mongoengine.StringField()
    price = mongoengine.IntField()
    tags = mongoengine.ListField(mongoengine.StringField())
    address = mongoengine.DictField()


mongoengine.connect(host=os.environ["MONGO"])
signals.post_save.connect(track_changes, sender=Item)
for number in range(int(os.environ["COUNT"])):
    item = Item(title=f"item {number}", price=1, tags=["new"], address={"city": "Kiel"}).save()
    for change in range(random.randrange(1, int(os.environ["STATES"]) + 1)):
        with DocumentTrack(item):
            item.price = random.randrange(900)
            if random.random() < 0.3:
                item.tags.append(f"tag {change}")
            if random.random() < 0.3:
                item.address = {"city": f"city {change}"}
            item.save()
