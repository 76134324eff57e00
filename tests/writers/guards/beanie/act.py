"""Creates, reads and saves items as Beanie does, one command a line; the answer to each is one line."""

import asyncio
import os
import sys

from beanie import Document, init_beanie
from pydantic import BaseModel
from pymongo import AsyncMongoClient


class Line(BaseModel):
    """A line of an item."""

    sku: str
    qty: int


class Item(Document):
    """An item with a revision, which each save compares and makes anew."""

    id: str
    title: str
    lines: list[Line]

    class Settings:
        name = "items"
        use_revision = True
        use_state_management = True


held: dict[str, Item] = {}  # who -> the document as it was read
WAYS = (Item.replace, Item.save, Item.save_changes)


async def create(id: str, *skus: str) -> str:
    await Item(id=id, title="new", lines=[Line(sku=sku, qty=0) for sku in skus]).insert()
    return "done"


async def read(who: str, id: str) -> str:
    found = await Item.get(id)
    assert found is not None
    held[who] = found
    return "done"


async def save(who: str, sku: str) -> str:
    item = held[who]
    next(line for line in item.lines if line.sku == sku).qty += 1
    try:
        await WAYS[(len(item.id) + sum(map(ord, item.id + who))) % len(WAYS)](item)
    except Exception as error:
        return f"{type(error).__name__} {str(error).splitlines()[0] if str(error) else ''}".strip()
    return "saved"


COMMANDS = {"create": create, "read": read, "save": save}


async def main() -> None:
    client = AsyncMongoClient(os.environ["MONGO"])
    await init_beanie(database=client["shop"], document_models=[Item])
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, *words = line.split()
        print(await COMMANDS[name](*words), flush=True)
    await client.close()


asyncio.run(main())
