"""Saves items through Django's models in MongoDB, with simple history, and prints the stored document behind each."""

import datetime as dt
import os
import random
import sys
import types
import uuid
from pathlib import Path

import django
import pymongo
from bson import json_util
from django.conf import settings

COUNT, STATES, SEED = (
    int(os.environ.get(name) or known) for name, known in (("COUNT", 12), ("STATES", 20), ("SEED", 7))
)
WORDS = ["amber", "brass", "cedar", "delta", "ember", "flint", "grove", "hazel", "größe", "東京"]

sys.modules["shop"] = app = types.ModuleType("shop")  # an application of one model, which this script defines
app.__path__ = [str(Path(__file__).parent)]
HOST = f"{os.environ['MONGO']}&uuidRepresentation=standard"
settings.configure(
    DATABASES={"default": {"ENGINE": "django_mongodb_backend", "HOST": HOST, "NAME": "shop"}},
    DATABASE_ROUTERS=["django_mongodb_backend.routers.MongoRouter"],
    DEFAULT_AUTO_FIELD="django_mongodb_backend.fields.ObjectIdAutoField",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "simple_history", "shop"],
    SIMPLE_HISTORY_HISTORY_ID_USE_UUID=True,
    USE_TZ=True,
)
django.setup()

from django.db import connection, models  # noqa: E402
from django_mongodb_backend.fields import ArrayField  # noqa: E402
from simple_history.models import HistoricalRecords  # noqa: E402


class Item(models.Model):
    """An item whose saves are recorded."""

    id = models.UUIDField(primary_key=True)
    title = models.CharField(max_length=200)
    price = models.DecimalField(max_digits=12, decimal_places=2)
    stock = models.IntegerField()
    active = models.BooleanField()
    due = models.DateTimeField()
    tags = ArrayField(models.CharField(max_length=50))
    details = models.JSONField()
    note = models.TextField(null=True)
    history = HistoricalRecords(history_change_reason_field=models.TextField(null=True))

    class Meta:
        app_label = "shop"
        db_table = "items"


chance = random.Random(SEED)
stored = pymongo.MongoClient(os.environ["MONGO"]).shop.items


def words(count):
    return " ".join(chance.choice(WORDS) for _ in range(count))


def change(item):
    name, value = chance.choice([
        lambda: ("title", words(3)),
        lambda: ("price", item.price + 1),
        lambda: ("stock", item.stock + 1),
        lambda: ("active", not item.active),
        lambda: ("due", item.due + dt.timedelta(hours=chance.randrange(500))),
        lambda: ("tags", [*item.tags, words(1)]),
        lambda: ("details", {**item.details, words(1): chance.randrange(9)}),
        lambda: ("note", words(2)),
    ])()  # fmt: skip
    setattr(item, name, value)
    item._change_reason = words(2) if chance.random() < 0.5 else None
    item.save()


def tell(id, kind):
    said = {"ns": "shop.items", "id": id.hex, "kind": kind, "state": stored.find_one({"id": id.hex})}
    print(json_util.dumps(said, json_options=json_util.CANONICAL_JSON_OPTIONS), flush=True)


with connection.schema_editor() as editor:
    editor.create_model(Item)
    editor.create_model(Item.history.model)
for number in range(COUNT):
    item = Item.objects.create(
        id=uuid.UUID(int=chance.getrandbits(128), version=4),
        title=words(3), price=chance.randrange(10**4), stock=chance.randrange(50), active=True,
        due=dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=chance.randrange(10**4)),
        tags=[words(1)], details={"size": chance.randrange(9), "parts": [words(1)]},
    )  # fmt: skip
    tell(item.pk, "created")
    for _ in range(chance.randrange(1, STATES)):
        change(item)
        tell(item.pk, "saved")
    if number % 5 == 4:
        id = item.pk
        item.delete()
        tell(id, "removed")
