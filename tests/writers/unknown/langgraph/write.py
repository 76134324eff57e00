"""Runs a graph of two steps whose every checkpoint LangGraph keeps."""

import os
from typing import TypedDict

import pymongo
from langgraph.checkpoint.mongodb import MongoDBSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    """What the graph works on."""

    number: int


def step(state):
    """Count one up."""
    return {"number": state["number"] + 1}


graph = StateGraph(State)
graph.add_node("first", step)
graph.add_node("second", step)
graph.add_edge(START, "first")
graph.add_edge("first", "second")
graph.add_edge("second", END)
app = graph.compile(checkpointer=MongoDBSaver(pymongo.MongoClient(os.environ["MONGO"]), db_name="shop"))
for number in range(int(os.environ["COUNT"])):
    for run in range(2):
        app.invoke({"number": run}, {"configurable": {"thread_id": f"thread {number}"}})
