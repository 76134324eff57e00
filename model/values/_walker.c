/* One pass over the bytes of BSON: the places of fields, a layout's own fields apart from the content, whether a document
 * survives being read and written again by a driver, and its text as Extended JSON.
 *
 * It says nothing of its own about damage: where bytes are in doubt it hands over to the same code in Python, which it
 * is given by `begin`, or tells that it does not know. So both behave alike, and this only makes it faster.
 * Source: https://bsonspec.org/spec.html. The limited API of Python 3.11 keeps one build for all later versions.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef const unsigned char *bytes_at;

typedef struct {
    PyObject *fields;   /* the walk in Python from the beginning: (raw, start) */
    PyObject *rest;     /* and from a field on: (raw, at, end) */
    PyTypeObject *value; /* model.values.canonical.Value */
    allocfunc alloc;
    PyObject *type_name, *data_name;
    PyTypeObject *walk;
} State;

/* --- bytes */

static Py_ssize_t int32_at(bytes_at at)
{
    return (Py_ssize_t)(int32_t)((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
}

static int64_t int64_at(bytes_at at)
{
    uint64_t low = (uint32_t)int32_at(at), high = (uint32_t)int32_at(at + 4);
    return (int64_t)(low | high << 32);
}

/* The place of the NUL that ends the document at `start`; -1 where its length is wrong. */
static Py_ssize_t end_of(bytes_at raw, Py_ssize_t size, Py_ssize_t start)
{
    if (start < 0 || size < 5 || start > size - 5)
        return -1;
    Py_ssize_t length = int32_at(raw + start);
    if (length < 5 || length > size - start || raw[start + length - 1] != 0)
        return -1;
    return start + length - 1;
}

/* The length of a payload of which at most `most` bytes are there; -1 where it is longer, or of an unknown type. */
static Py_ssize_t payload(unsigned char kind, bytes_at at, Py_ssize_t most)
{
    Py_ssize_t length, extra, least;
    switch (kind) {
    case 6: case 10: case 127: case 255:
        return 0;
    case 8:
        return most < 1 ? -1 : 1;
    case 16:
        return most < 4 ? -1 : 4;
    case 1: case 9: case 17: case 18:
        return most < 8 ? -1 : 8;
    case 7:
        return most < 12 ? -1 : 12;
    case 19:
        return most < 16 ? -1 : 16;
    case 2: case 13: case 14:
        extra = 4, least = 1;
        break;
    case 3: case 4:
        extra = 0, least = 5;
        break;
    case 5:
        extra = 5, least = 0;
        break;
    case 15:
        extra = 0, least = 14;
        break;
    case 12:
        extra = 16, least = 1;
        break;
    case 11: {
        bytes_at flags, end = NULL;
        flags = most > 0 ? memchr(at, 0, (size_t)most) : NULL;
        if (flags != NULL)
            end = memchr(flags + 1, 0, (size_t)(most - (flags + 1 - at)));
        return end == NULL ? -1 : end + 1 - at;
    }
    default:
        return -1;
    }
    if (most < 4)
        return -1;
    length = int32_at(at);
    return length < least || length > most - extra ? -1 : length + extra;
}

typedef struct {
    unsigned char kind;
    Py_ssize_t name, begin, stop; /* its name ends one byte before `begin` */
} Field;

/* Read the field at `at` of a document that ends at `end`; 0 where it is in doubt. */
static int field_at(bytes_at raw, Py_ssize_t at, Py_ssize_t end, Field *field)
{
    bytes_at name_end = at + 1 < end ? memchr(raw + at + 1, 0, (size_t)(end - at - 1)) : NULL;
    if (name_end == NULL)
        return 0;
    field->kind = raw[at];
    field->name = at + 1;
    field->begin = name_end - raw + 1;
    Py_ssize_t length = payload(field->kind, raw + field->begin, end - field->begin);
    field->stop = field->begin + length;
    return length >= 0;
}

/* --- objects */

static PyObject *some_of(bytes_at raw, Py_ssize_t from, Py_ssize_t to)
{
    return PyBytes_FromStringAndSize((const char *)raw + from, to - from);
}

/* A tuple of four objects, whose references it takes; NULL where one of them is NULL. */
static PyObject *tuple_of(PyObject *a, PyObject *b, PyObject *c, PyObject *d)
{
    PyObject *made = a && b && c && d ? PyTuple_New(4) : NULL;
    if (made == NULL) {
        Py_XDECREF(a), Py_XDECREF(b), Py_XDECREF(c), Py_XDECREF(d);
        return NULL;
    }
    PyTuple_SetItem(made, 0, a), PyTuple_SetItem(made, 1, b), PyTuple_SetItem(made, 2, c), PyTuple_SetItem(made, 3, d);
    return made;
}

/* A field as Python's walk tells it: name, type, and where the payload begins and ends. */
static PyObject *span_of(bytes_at raw, const Field *f)
{
    return tuple_of(some_of(raw, f->name, f->begin - 1), PyLong_FromLong(f->kind), PyLong_FromSsize_t(f->begin),
                    PyLong_FromSsize_t(f->stop));
}

static PyObject *value_of(State *state, bytes_at raw, const Field *f)
{
    PyObject *made = state->alloc(state->value, 0), *kind = PyLong_FromLong(f->kind);
    PyObject *data = some_of(raw, f->begin, f->stop);
    if (made == NULL || kind == NULL || data == NULL || PyObject_GenericSetAttr(made, state->type_name, kind) < 0
        || PyObject_GenericSetAttr(made, state->data_name, data) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(kind), Py_XDECREF(data);
    return made;
}

/* The UTF-8 of a name; NULL without an error where none can have it, for bytes that are no text or a NUL. */
static const char *text_of(PyObject *name, Py_ssize_t *length)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, length);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        PyErr_Clear();
    return text == NULL || memchr(text, 0, (size_t)*length) != NULL ? NULL : text;
}

/* --- elements(raw, start): the fields of a document, one after the other */

typedef struct {
    PyObject *object;
    bytes_at raw;
    Py_ssize_t start, end; /* `end` is the place of the NUL behind the last field, -1 in doubt */
} Document;

/* The document that begins somewhere in some bytes, by the arguments of a function; 0 for an error. */
static int document_of(PyObject *args, Document *d)
{
    d->start = 0;
    if (!PyArg_ParseTuple(args, "S|n", &d->object, &d->start))
        return 0;
    d->raw = (bytes_at)PyBytes_AsString(d->object);
    d->end = end_of(d->raw, PyBytes_Size(d->object), d->start);
    return 1;
}

typedef struct {
    PyObject_HEAD
    PyObject *raw, *rest; /* `rest` walks on in Python, once there is a doubt */
    Py_ssize_t at, end;
} Walk;

static void walk_dealloc(Walk *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    Py_XDECREF(self->raw), Py_XDECREF(self->rest);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *walk_next(Walk *self)
{
    Field field;
    if (self->rest != NULL)
        return PyIter_Next(self->rest);
    if (self->at >= self->end)
        return NULL;
    bytes_at raw = (bytes_at)PyBytes_AsString(self->raw);
    if (field_at(raw, self->at, self->end, &field)) {
        self->at = field.stop;
        return span_of(raw, &field);
    }
    State *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    if (state == NULL)
        return NULL;
    PyObject *walked = PyObject_CallFunction(state->rest, "Onn", self->raw, self->at, self->end);
    if (walked == NULL)
        return NULL;
    self->rest = PyObject_GetIter(walked);
    Py_DECREF(walked);
    return self->rest == NULL ? NULL : PyIter_Next(self->rest);
}

static PyType_Slot walk_slots[] = {
    {Py_tp_dealloc, walk_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, walk_next},
    {0, NULL},
};
static PyType_Spec walk_spec = {
    "model.values._walker.Walk", sizeof(Walk), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, walk_slots};

static PyObject *elements(PyObject *module, PyObject *args)
{
    State *state = PyModule_GetState(module);
    Document d;
    if (!document_of(args, &d))
        return NULL;
    if (d.end < 0)
        return PyObject_CallFunction(state->fields, "On", d.object, d.start);
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->walk, Py_tp_alloc);
    Walk *walk = (Walk *)alloc(state->walk, 0);
    if (walk == NULL)
        return NULL;
    Py_INCREF(d.object);
    walk->raw = d.object, walk->rest = NULL, walk->at = d.start + 4, walk->end = d.end;
    return (PyObject *)walk;
}

/* --- spans(raw, start): all fields at once; None in doubt */

static PyObject *spans(PyObject *module, PyObject *args)
{
    Document d;
    Field field;
    if (!document_of(args, &d))
        return NULL;
    if (d.end < 0)
        Py_RETURN_NONE;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t at = d.start + 4; found != NULL && at < d.end; at = field.stop) {
        if (!field_at(d.raw, at, d.end, &field)) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        PyObject *span = span_of(d.raw, &field);
        if (span == NULL || PyList_Append(found, span) < 0)
            Py_CLEAR(found);
        Py_XDECREF(span);
    }
    return found;
}

/* --- fields(raw): the name of each field as text, with its value; None in doubt */

static PyObject *fields(PyObject *module, PyObject *object)
{
    State *state = PyModule_GetState(module);
    Field field;
    if (!PyBytes_Check(object))
        Py_RETURN_NONE;
    bytes_at raw = (bytes_at)PyBytes_AsString(object);
    Py_ssize_t end = end_of(raw, PyBytes_Size(object), 0);
    if (end < 0)
        Py_RETURN_NONE;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t at = 4; found != NULL && at < end; at = field.stop) {
        if (!field_at(raw, at, end, &field)) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        PyObject *name = PyUnicode_DecodeUTF8((const char *)raw + field.name, field.begin - 1 - field.name,
                                              "surrogateescape");
        PyObject *value = name == NULL ? NULL : value_of(state, raw, &field);
        PyObject *pair = value == NULL ? NULL : PyTuple_Pack(2, name, value);
        Py_XDECREF(name), Py_XDECREF(value);
        if (pair == NULL || PyList_Append(found, pair) < 0)
            Py_CLEAR(found);
        Py_XDECREF(pair);
    }
    return found;
}

/* --- parted(raw, names, wanted): some fields as values by name, and the document without them; None in doubt. Unless
 * the values are wanted there are none. */

#define MOST_NAMES 32

static PyObject *parted(PyObject *module, PyObject *args)
{
    State *state = PyModule_GetState(module);
    PyObject *object, *names;
    Field field;
    const char *wanted[MOST_NAMES];
    Py_ssize_t lengths[MOST_NAMES];
    int values;
    if (!PyArg_ParseTuple(args, "SO!p:parted", &object, &PyTuple_Type, &names, &values))
        return NULL;
    Py_ssize_t size = PyBytes_Size(object), count = PyTuple_Size(names);
    bytes_at raw = (bytes_at)PyBytes_AsString(object);
    Py_ssize_t end = end_of(raw, size, 0);
    if (end < 0 || end != size - 1 || count > MOST_NAMES)
        Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < count; i++) {
        wanted[i] = text_of(PyTuple_GetItem(names, i), &lengths[i]);
        if (wanted[i] == NULL && PyErr_Occurred())
            return NULL;
        if (wanted[i] == NULL)
            Py_RETURN_NONE;
    }
    PyObject *kept = PyDict_New(), *content = NULL;
    unsigned char *out = PyMem_Malloc((size_t)size), *to = out + 4;
    Py_ssize_t from = 4;
    if (kept == NULL || out == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t at = 4; at < end; at = field.stop) {
        if (!field_at(raw, at, end, &field)) {
            PyMem_Free(out);
            Py_DECREF(kept);
            Py_RETURN_NONE;
        }
        Py_ssize_t length = field.begin - 1 - field.name, i = 0;
        while (i < count && (lengths[i] != length || memcmp(wanted[i], raw + field.name, (size_t)length) != 0))
            i++;
        if (i == count)
            continue;
        memcpy(to, raw + from, (size_t)(at - from));
        to += at - from, from = field.stop;
        if (!values)
            continue;
        PyObject *name = PyTuple_GetItem(names, i);
        int there = PyDict_Contains(kept, name);
        if (there == 0) {
            PyObject *value = value_of(state, raw, &field);
            there = value == NULL ? -1 : PyDict_SetItem(kept, name, value);
            Py_XDECREF(value);
        }
        if (there < 0)
            goto failed;
    }
    if (from == 4) {
        Py_INCREF(object);
        content = object;
    } else {
        memcpy(to, raw + from, (size_t)(size - from));
        to += size - from;
        uint32_t all = (uint32_t)(to - out);
        for (int i = 0; i < 4; i++)
            out[i] = (unsigned char)(all >> 8 * i);
        content = PyBytes_FromStringAndSize((const char *)out, to - out);
    }
    if (content != NULL) {
        PyObject *both = PyTuple_Pack(2, kept, content);
        PyMem_Free(out);
        Py_DECREF(kept), Py_DECREF(content);
        return both;
    }
failed:
    PyMem_Free(out);
    Py_XDECREF(kept);
    return NULL;
}

/* --- field(raw, name): the value of the first field of a name, None where there is none; False in doubt */

static PyObject *field(PyObject *module, PyObject *args)
{
    State *state = PyModule_GetState(module);
    PyObject *object, *name;
    Field found;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "SU:field", &object, &name))
        return NULL;
    const char *wanted = text_of(name, &length);
    bytes_at raw = (bytes_at)PyBytes_AsString(object);
    Py_ssize_t end = end_of(raw, PyBytes_Size(object), 0);
    if (wanted == NULL && PyErr_Occurred())
        return NULL;
    if (wanted == NULL || end < 0)
        Py_RETURN_FALSE;
    for (Py_ssize_t at = 4; at < end; at = found.stop) {
        if (!field_at(raw, at, end, &found))
            Py_RETURN_FALSE;
        if (found.begin - 1 - found.name == length && memcmp(wanted, raw + found.name, (size_t)length) == 0)
            return value_of(state, raw, &found);
    }
    Py_RETURN_NONE;
}

/* --- terms(terms, value): a filter or an update in Python as the bytes of a document; None in doubt. Parts that are
 * no plain object go through `value`, which makes a value of them. */

#define DEEPEST_TERMS 40

typedef struct {
    char *bytes;
    Py_ssize_t used, room;
} Buffer;

/* Put bytes at the end of a buffer, or leave room for them; 0 for an error. */
static int put(Buffer *buffer, const void *bytes, Py_ssize_t size)
{
    if (size > buffer->room - buffer->used) {
        Py_ssize_t room = 2 * buffer->room + size;
        char *larger = PyMem_Realloc(buffer->bytes, (size_t)room);
        if (larger == NULL) {
            PyErr_NoMemory();
            return 0;
        }
        buffer->bytes = larger, buffer->room = room;
    }
    if (size > 0)
        memcpy(buffer->bytes + buffer->used, bytes, (size_t)size);
    buffer->used += size;
    return 1;
}

static int put_int32(Buffer *buffer, int64_t number)
{
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> 8 * i);
    return put(buffer, bytes, 4);
}

/* Put a value's type in its place and its payload at the end. */
static int put_value(State *state, Buffer *buffer, Py_ssize_t place, PyObject *value)
{
    PyObject *kind = PyObject_GetAttr(value, state->type_name), *data = PyObject_GetAttr(value, state->data_name);
    long number = kind == NULL || data == NULL ? -1 : PyLong_AsLong(kind);
    int done = number >= 0 && number < 256 && PyBytes_Check(data);
    if (done) {
        done = put(buffer, PyBytes_AsString(data), PyBytes_Size(data));
        buffer->bytes[place] = (char)number;
    }
    Py_XDECREF(kind), Py_XDECREF(data);
    return done;
}

static int put_terms(State *state, Buffer *buffer, PyObject *terms, PyObject *made, int depth);

/* Put a field at the end; 0 in doubt, or for an error, which is set then. */
static int put_term(State *state, Buffer *buffer, const char *name, Py_ssize_t length, PyObject *part, PyObject *made,
                    int depth)
{
    Py_ssize_t place = buffer->used, size;
    if (!put(buffer, "", 1) || !put(buffer, name, length) || !put(buffer, "", 1))
        return 0;
    if (Py_TYPE(part) == state->value)
        return put_value(state, buffer, place, part);
    if (PyDict_CheckExact(part) || PyList_CheckExact(part)) {
        buffer->bytes[place] = PyDict_CheckExact(part) ? 3 : 4;
        return put_terms(state, buffer, part, made, depth + 1);
    }
    if (PyUnicode_CheckExact(part)) {
        const char *text = PyUnicode_AsUTF8AndSize(part, &size);
        buffer->bytes[place] = 2;
        return text != NULL && size < INT32_MAX && put_int32(buffer, size + 1) && put(buffer, text, size)
            && put(buffer, "", 1);
    }
    if (PyLong_CheckExact(part)) {
        int over;
        long long number = PyLong_AsLongLongAndOverflow(part, &over);
        int small = number >= INT32_MIN && number <= INT32_MAX;
        buffer->bytes[place] = small ? 16 : 18;
        return !over && put_int32(buffer, number) && (small || put_int32(buffer, number >> 32));
    }
    PyObject *value = PyObject_CallFunctionObjArgs(made, part, NULL);
    int done = value != NULL && Py_TYPE(value) == state->value && put_value(state, buffer, place, value);
    Py_XDECREF(value);
    return done;
}

/* Put the document or the array of a dictionary or a list at the end; 0 in doubt, or for an error. */
static int put_terms(State *state, Buffer *buffer, PyObject *terms, PyObject *made, int depth)
{
    Py_ssize_t start = buffer->used, length;
    if (depth > DEEPEST_TERMS || !put(buffer, "\0\0\0", 4))
        return 0;
    if (PyDict_CheckExact(terms)) {
        PyObject *name, *part;
        for (Py_ssize_t at = 0; PyDict_Next(terms, &at, &name, &part);) {
            const char *text = PyUnicode_Check(name) ? text_of(name, &length) : NULL;
            if (text == NULL || !put_term(state, buffer, text, length, part, made, depth))
                return 0;
        }
    } else {
        char name[24];
        for (Py_ssize_t at = 0; at < PyList_Size(terms); at++) {
            length = PyOS_snprintf(name, sizeof(name), "%zd", at);
            if (!put_term(state, buffer, name, length, PyList_GetItem(terms, at), made, depth))
                return 0;
        }
    }
    Py_ssize_t size = buffer->used + 1 - start;
    if (size > INT32_MAX || !put(buffer, "", 1))
        return 0;
    for (int i = 0; i < 4; i++)
        buffer->bytes[start + i] = (char)((uint64_t)size >> 8 * i);
    return 1;
}

static PyObject *terms(PyObject *module, PyObject *args)
{
    PyObject *given, *made, *found = NULL;
    Buffer buffer = {NULL, 0, 0};
    if (!PyArg_ParseTuple(args, "OO:terms", &given, &made))
        return NULL;
    if (PyDict_CheckExact(given) && put_terms(PyModule_GetState(module), &buffer, given, made, 0)) {
        found = PyBytes_FromStringAndSize(buffer.bytes, buffer.used);
    } else {
        PyErr_Clear(); /* Python says what is wrong, or finds that nothing is */
        found = Py_None;
        Py_INCREF(found);
    }
    PyMem_Free(buffer.bytes);
    return found;
}

/* --- survives(raw): whether a driver surely reads and writes these bytes as they are */

#define DEEPEST 40
#define MOST_FIELDS 256 /* of one document, whose names are compared with one another */
#define FEW_FIELDS 16   /* whose names are compared each with each */
#define SLOTS 512       /* more than there are names, and a power of two */

static int is_text(bytes_at at, Py_ssize_t size)
{
    bytes_at end = at + size;
    while (at < end) {
        uint64_t eight;
        while (end - at >= 8 && (memcpy(&eight, at, 8), (eight & 0x8080808080808080ULL) == 0))
            at += 8;
        if (at == end)
            break;
        unsigned char first = *at++;
        if (first < 0x80)
            continue;
        int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        if (first < 0xC2 || first > 0xF4 || end - at < more)
            return 0;
        unsigned char least = 0x80, most = 0xBF; /* of the byte behind the first: no overlong form, no surrogate */
        if (first == 0xE0)
            least = 0xA0;
        else if (first == 0xED)
            most = 0x9F;
        else if (first == 0xF0)
            least = 0x90;
        else if (first == 0xF4)
            most = 0x8F;
        if (*at < least || *at > most)
            return 0;
        while (more-- > 1)
            if ((*++at & 0xC0) != 0x80)
                return 0;
        at++;
    }
    return 1;
}

#define FIRST_DATE (-62135596800000LL) /* milliseconds of the years 1 to 9999 */
#define LAST_DATE 253402300799999LL

typedef struct {
    uint32_t count;
    struct {
        uint32_t hash, name; /* and where it begins */
    } seen[MOST_FIELDS];
    uint16_t slots[SLOTS]; /* of names by their hashes, the number of each from 1, once there are more than a few */
} Names;

static int is_seen(const Names *names, uint32_t i, uint32_t hash, bytes_at raw, const Field *f)
{
    size_t length = (size_t)(f->begin - f->name); /* with its NUL, so that none is the beginning of another */
    return names->seen[i].hash == hash && memcmp(raw + names->seen[i].name, raw + f->name, length) == 0;
}

/* Note the name of a field: 0 where it was there before, or where there are too many to compare. */
static int is_new_name(Names *names, bytes_at raw, const Field *f)
{
    uint32_t hash = 2166136261u, slot, count = names->count;
    for (Py_ssize_t i = f->name; i < f->begin; i++)
        hash = (hash ^ raw[i]) * 16777619u;
    if (count == MOST_FIELDS || f->name > INT32_MAX)
        return 0;
    if (count < FEW_FIELDS) {
        for (uint32_t i = 0; i < count; i++)
            if (is_seen(names, i, hash, raw, f))
                return 0;
    } else {
        if (count == FEW_FIELDS) {
            memset(names->slots, 0, sizeof names->slots);
            for (uint32_t i = 0; i < count; i++) {
                for (slot = names->seen[i].hash % SLOTS; names->slots[slot]; slot = (slot + 1) % SLOTS)
                    ;
                names->slots[slot] = (uint16_t)(i + 1);
            }
        }
        for (slot = hash % SLOTS; names->slots[slot]; slot = (slot + 1) % SLOTS)
            if (is_seen(names, names->slots[slot] - 1u, hash, raw, f))
                return 0;
        names->slots[slot] = (uint16_t)(count + 1);
    }
    names->seen[count].hash = hash, names->seen[count].name = (uint32_t)f->name;
    names->count++;
    return 1;
}

/* Whether the name of an element is its place in an array. */
static int is_position(bytes_at name, Py_ssize_t length, Py_ssize_t place)
{
    char digits[24];
    Py_ssize_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + place % 10);
    while (place /= 10);
    return length == (Py_ssize_t)sizeof digits - n && memcmp(name, digits + n, (size_t)length) == 0;
}

static int sure(bytes_at raw, Py_ssize_t size, int array, int depth);

static int sure_value(bytes_at at, const Field *f, int depth)
{
    Py_ssize_t size = f->stop - f->begin;
    switch (f->kind) {
    case 1: /* a NaN may come back with other bits */
        return (int64_at(at) & 0x7FF0000000000000LL) != 0x7FF0000000000000LL
               || (int64_at(at) & 0x000FFFFFFFFFFFFFLL) == 0;
    case 2:
        return at[size - 1] == 0 && is_text(at + 4, size - 5);
    case 3: case 4:
        return sure(at, size, f->kind == 4, depth + 1);
    case 5: /* plain bytes, UUIDs and digests */
        return at[4] == 0 || ((at[4] == 4 || at[4] == 5) && size == 21);
    case 8:
        return at[0] < 2;
    case 9:
        return int64_at(at) >= FIRST_DATE && int64_at(at) <= LAST_DATE;
    case 7: case 10: case 16: case 17: case 18: case 19: case 127: case 255:
        return 1;
    default: /* expressions, code, and types that are no more in use */
        return 0;
    }
}

static int sure(bytes_at raw, Py_ssize_t size, int array, int depth)
{
    Names names;
    Py_ssize_t end = end_of(raw, size, 0), count = 0;
    Field f;
    names.count = 0;
    if (end < 0 || end != size - 1 || depth > DEEPEST)
        return 0;
    for (Py_ssize_t at = 4; at < end; at = f.stop, count++) {
        if (!field_at(raw, at, end, &f))
            return 0;
        bytes_at name = raw + f.name;
        Py_ssize_t length = f.begin - 1 - f.name;
        if (array) { /* its names are counted anew by whoever writes it */
            if (!is_position(name, length, count))
                return 0;
        } else if ((length && name[0] == '$') || !is_text(name, length) || !is_new_name(&names, raw, &f))
            return 0; /* {"$ref": …} is another type to a driver */
        if (!sure_value(raw + f.begin, &f, depth))
            return 0;
    }
    return 1;
}

static PyObject *survives(PyObject *module, PyObject *object)
{
    char *raw;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(object, &raw, &size) < 0)
        return NULL;
    return PyBool_FromLong(sure((bytes_at)raw, size, 0, 0));
}

/* --- glance(raw, names): of a document that surely survives the id, as type and payload, the version and the time as
 * numbers, by their names; each None where it is not there, or no whole number and no date. "" names nothing. None in
 * doubt, and where there is a field of the fourth name. */

enum { ID, VERSION, TIME, SEAL, GLANCED };

static PyObject *number_or_none(bytes_at raw, const Field *f)
{
    switch (f->kind) {
    case 16:
        return PyLong_FromSsize_t(int32_at(raw + f->begin));
    case 9: case 18:
        return PyLong_FromLongLong(int64_at(raw + f->begin));
    }
    Py_RETURN_NONE;
}

static PyObject *glance(PyObject *module, PyObject *args)
{
    PyObject *object, *names[GLANCED];
    const char *wanted[GLANCED];
    Py_ssize_t lengths[GLANCED];
    Field found[GLANCED], f;
    if (!PyArg_ParseTuple(args, "S(UUUU):glance", &object, &names[0], &names[1], &names[2], &names[3]))
        return NULL;
    bytes_at raw = (bytes_at)PyBytes_AsString(object);
    Py_ssize_t size = PyBytes_Size(object);
    for (int i = 0; i < GLANCED; i++) {
        found[i].kind = 0; /* a type that no field has */
        wanted[i] = text_of(names[i], &lengths[i]);
        if (wanted[i] == NULL && PyErr_Occurred())
            return NULL;
        if (wanted[i] == NULL)
            Py_RETURN_NONE;
    }
    if (!sure(raw, size, 0, 0))
        Py_RETURN_NONE;
    for (Py_ssize_t at = 4; at < size - 1 && field_at(raw, at, size - 1, &f); at = f.stop)
        for (int i = 0; i < GLANCED; i++)
            if (lengths[i] && f.begin - 1 - f.name == lengths[i]
                && memcmp(wanted[i], raw + f.name, (size_t)lengths[i]) == 0)
                found[i] = f;
    if (found[SEAL].kind)
        Py_RETURN_NONE;
    if (found[TIME].kind != 9)
        found[TIME].kind = 0;
    if (found[VERSION].kind == 9)
        found[VERSION].kind = 0;
    PyObject *kind = Py_None, *data = Py_None;
    if (found[ID].kind)
        kind = PyLong_FromLong(found[ID].kind), data = some_of(raw, found[ID].begin, found[ID].stop);
    else
        Py_INCREF(kind), Py_INCREF(data);
    return tuple_of(kind, data, number_or_none(raw, &found[VERSION]), number_or_none(raw, &found[TIME]));
}

/* --- places(raw, at): where the elements of an array begin, and its end; None unless they are named 0, 1, 2 … */

static PyObject *places(PyObject *module, PyObject *args)
{
    Document d;
    Py_ssize_t digits = 1;
    char name[24] = "0";
    Field f;
    if (!document_of(args, &d))
        return NULL;
    if (d.end < 0)
        Py_RETURN_NONE;
    PyObject *found = PyList_New(0);
    int kind = d.start + 4 < d.end ? d.raw[d.start + 4] : 0; /* the type of all, or 0 */
    for (Py_ssize_t at = d.start + 4; found != NULL; at = f.stop) {
        PyObject *place = PyLong_FromSsize_t(at);
        if (place == NULL || PyList_Append(found, place) < 0)
            Py_CLEAR(found);
        Py_XDECREF(place);
        if (at >= d.end || found == NULL)
            break;
        if (!field_at(d.raw, at, d.end, &f) || f.begin - 1 - f.name != digits
            || memcmp(d.raw + f.name, name, (size_t)digits) != 0) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        if (f.kind != kind)
            kind = 0;
        Py_ssize_t i = digits - 1; /* the next number */
        while (i >= 0 && name[i] == '9')
            name[i--] = '0';
        if (i >= 0)
            name[i]++;
        else {
            name[0] = '1';
            memset(name + 1, '0', (size_t)digits++);
        }
    }
    if (found == NULL)
        return NULL;
    PyObject *both = Py_BuildValue("(Oi)", found, kind);
    Py_DECREF(found);
    return both;
}

/* --- changed(a, at, b, to): the fields that differ of two documents with the same names in one order, and whether each
 * of these names surely occurs once; else None */

static PyObject *changed(PyObject *module, PyObject *args)
{
    PyObject *old, *new;
    Py_ssize_t at, to;
    Field x, y;
    Names names;
    int alone = 1;
    if (!PyArg_ParseTuple(args, "SnSn:changed", &old, &at, &new, &to))
        return NULL;
    bytes_at a = (bytes_at)PyBytes_AsString(old), b = (bytes_at)PyBytes_AsString(new);
    Py_ssize_t end = end_of(a, PyBytes_Size(old), at), stop = end_of(b, PyBytes_Size(new), to);
    if (end < 0 || stop < 0)
        Py_RETURN_NONE;
    PyObject *found = PyList_New(0);
    names.count = 0;
    for (at += 4, to += 4; found != NULL && at < end && to < stop; at = x.stop, to = y.stop) {
        if (!field_at(a, at, end, &x) || !field_at(b, to, stop, &y) || x.begin - x.name != y.begin - y.name
            || memcmp(a + x.name, b + y.name, (size_t)(x.begin - x.name)) != 0) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        alone = alone && is_new_name(&names, a, &x);
        Py_ssize_t size = x.stop - x.begin;
        if (x.kind == y.kind && size == y.stop - y.begin && memcmp(a + x.begin, b + y.begin, (size_t)size) == 0)
            continue;
        PyObject *left = span_of(a, &x), *right = span_of(b, &y);
        PyObject *pair = left && right ? PyTuple_Pack(2, left, right) : NULL;
        if (pair == NULL || PyList_Append(found, pair) < 0)
            Py_CLEAR(found);
        Py_XDECREF(left), Py_XDECREF(right), Py_XDECREF(pair);
    }
    if (found != NULL && (at < end || to < stop)) {
        Py_DECREF(found);
        Py_RETURN_NONE;
    }
    PyObject *both = found == NULL ? NULL : PyTuple_Pack(2, found, alone ? Py_True : Py_False);
    Py_XDECREF(found);
    return both;
}

/* --- text(raw, start, stop, array, form, level, scalar): a document or an array as Extended JSON in UTF-8; None in
 * doubt. A form is the notation of numbers and dates, what stands behind a name and between two fields, and the indentation of a
 * level or None. Values that take more than a few lines here, and odd texts, go through `scalar`, by type and payload. */

enum { CANONICAL, RELAXED, EXACT };

#define STRETCH 65536 /* bytes of text after which other threads have their turn */
#define YEAR_10000 253402300800000LL

typedef struct {
    Buffer out;
    Py_ssize_t turn; /* the length of the text at which the next turn of others is due */
    int notation;
    const char *colon, *comma, *indent; /* no indentation: all on one line */
    PyObject *scalar;
} Writing;

static int say(Writing *w, const char *text)
{
    return put(&w->out, text, (Py_ssize_t)strlen(text));
}

/* The bytes of the character that a text goes on with, where it stands in JSON as it is; 0 where it does not, or may
 * not: what nobody sees is written as its code, and Python knows what that is. The text ends in a NUL. */
static int plain_at(bytes_at at)
{
    unsigned c = at[0];
    if (c < 0x80)
        return c >= 0x20 && c != 0x7F && c != '"' && c != '\\';
    int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0xC2 || c > 0xF0)
        return 0;
    c &= 0x3Fu >> more;
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (at[i] & 0x3Fu);
    }
    if (more == 1)
        return c >= 0xA0 && c != 0xAD && c != 0x34F && c != 0x61C ? 2 : 0;
    if (more == 2) /* dashes, quotation marks and signs, and most of what is written in Asia */
        return (c >= 0x2010 && c <= 0x2027) || (c >= 0x2030 && c <= 0x205F) || (c >= 0x2070 && c <= 0x3163)
                || (c >= 0x3165 && c <= 0xD7FF) ? 3 : 0;
    return c >= 0x1F000 && c <= 0x1FAFF ? 4 : 0; /* pictures */
}

/* Say a text in quotes, behind which there is a NUL; 0 where there is a character in it that Python has to write. */
static int say_text(Writing *w, bytes_at at, Py_ssize_t size)
{
    bytes_at end = at + size;
    Py_ssize_t used = w->out.used;
    if (!put(&w->out, "\"", 1))
        return 0;
    while (at < end) {
        bytes_at from = at;
        for (int length; at < end && (length = plain_at(at)) > 0;)
            at += length;
        const char *code = at == end ? "" : *at == '\n' ? "\\n" : *at == '\r' ? "\\r" : *at == '\t' ? "\\t"
            : *at == '"' ? "\\\"" : *at == '\\' ? "\\\\" : NULL;
        if (code == NULL || !put(&w->out, from, at - from) || !say(w, code)) {
            w->out.used = used;
            return 0;
        }
        at++;
    }
    return put(&w->out, "\"", 1);
}

static int say_number(Writing *w, const char *before, int64_t number, const char *after)
{
    char digits[32];
    PyOS_snprintf(digits, sizeof digits, "%lld", (long long)number);
    return say(w, before) && say(w, digits) && say(w, after);
}

static int say_double(Writing *w, bytes_at at)
{
    int64_t bits = int64_at(at);
    double number;
    memcpy(&number, &bits, 8);
    char *digits = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL), *power;
    if (digits == NULL)
        return 0;
    if ((power = strchr(digits, 'e')) != NULL)
        *power = 'E';
    int relaxed = w->notation != CANONICAL;
    int done = say(w, relaxed ? "" : "{\"$numberDouble\": \"") && say(w, digits) && say(w, relaxed ? "" : "\"}");
    PyMem_Free(digits);
    return done;
}

/* A time from 1970 to 9999, by the days since March of the year 0, in which each leap day is the last of its year. */
static int say_date(Writing *w, int64_t milliseconds)
{
    char text[64], fraction[8] = "";
    long days = (long)(milliseconds / 86400000) + 719468, seconds = (long)(milliseconds / 1000 % 86400);
    long era = days / 146097, of_era = days % 146097;
    long years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    long of_year = of_era - (365 * years + years / 4 - years / 100), month = (5 * of_year + 2) / 153;
    long day = of_year - (153 * month + 2) / 5 + 1, year = years + era * 400 + (month >= 10);
    if (milliseconds % 1000)
        PyOS_snprintf(fraction, sizeof fraction, ".%03d", (int)(milliseconds % 1000));
    PyOS_snprintf(text, sizeof text, "{\"$date\": \"%04ld-%02ld-%02ldT%02ld:%02ld:%02ld%sZ\"}", year,
                  month < 10 ? month + 3 : month - 9, day, seconds / 3600, seconds / 60 % 60, seconds % 60, fraction);
    return say(w, text);
}

static int say_id(Writing *w, bytes_at at)
{
    static const char digits[] = "0123456789abcdef";
    char text[24];
    for (int i = 0; i < 12; i++)
        text[2 * i] = digits[at[i] >> 4], text[2 * i + 1] = digits[at[i] & 15];
    return say(w, "{\"$oid\": \"") && put(&w->out, text, 24) && say(w, "\"}");
}

/* Say a value as Python writes it. */
static int say_by(Writing *w, unsigned char kind, PyObject *data)
{
    Py_ssize_t length = 0;
    PyObject *number = PyLong_FromLong(kind), *text = NULL;
    if (number != NULL && data != NULL)
        text = PyObject_CallFunctionObjArgs(w->scalar, number, data, NULL);
    const char *found = text == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, &length);
    int done = found != NULL && put(&w->out, found, length);
    Py_XDECREF(number), Py_XDECREF(data), Py_XDECREF(text);
    return done;
}

static int say_name(Writing *w, bytes_at name, Py_ssize_t length)
{
    if (say_text(w, name, length))
        return say(w, w->colon);
    if (PyErr_Occurred())
        return 0;
    Buffer text = {NULL, 0, 0};
    int done = put_int32(&text, length + 1) && put(&text, name, length) && put(&text, "", 1)
        && say_by(w, 2, PyBytes_FromStringAndSize(text.bytes, text.used)) && say(w, w->colon);
    PyMem_Free(text.bytes);
    return done;
}

static int say_container(Writing *w, bytes_at raw, Py_ssize_t size, int array, Py_ssize_t level, int depth);

static int say_value(Writing *w, bytes_at at, const Field *f, Py_ssize_t level, int depth)
{
    Py_ssize_t size = f->stop - f->begin;
    int relaxed = w->notation != CANONICAL;
    int64_t number;
    switch (f->kind) {
    case 1:
        if ((int64_at(at) & 0x7FF0000000000000LL) != 0x7FF0000000000000LL)
            return say_double(w, at);
        break;
    case 2:
        if (at[size - 1] == 0 && say_text(w, at + 4, size - 5))
            return 1;
        if (PyErr_Occurred())
            return 0;
        break;
    case 3: case 4:
        return say_container(w, at, size, f->kind == 4, level + 1, depth + 1);
    case 7:
        return say_id(w, at);
    case 8:
        if (at[0] < 2)
            return say(w, at[0] ? "true" : "false");
        break;
    case 9:
        number = int64_at(at);
        if (!relaxed)
            return say_number(w, "{\"$date\": {\"$numberLong\": \"", number, "\"}}");
        if (number >= 0 && number < YEAR_10000)
            return say_date(w, number);
        break;
    case 10:
        return say(w, "null");
    case 15:
        return 0;
    case 16:
        return say_number(w, relaxed ? "" : "{\"$numberInt\": \"", int32_at(at), relaxed ? "" : "\"}");
    case 18:
        number = int64_at(at);
        if (w->notation == EXACT && number >= INT32_MIN && number <= INT32_MAX)
            relaxed = 0;
        return say_number(w, relaxed ? "" : "{\"$numberLong\": \"", number, relaxed ? "" : "\"}");
    }
    return say_by(w, f->kind, some_of(at, 0, size));
}

static int say_line(Writing *w, Py_ssize_t level)
{
    int done = w->indent == NULL || say(w, "\n");
    for (; w->indent != NULL && done && level > 0; level--)
        done = say(w, w->indent);
    return done;
}

/* Whether no name of a document comes twice, however many fields it has. */
static int all_differ(bytes_at raw, Py_ssize_t end)
{
    PyObject *names = PySet_New(NULL);
    Py_ssize_t count = 0;
    Field f;
    for (Py_ssize_t at = 4; names != NULL && at < end; at = f.stop, count++) {
        PyObject *name = field_at(raw, at, end, &f) ? some_of(raw, f.name, f.begin - 1) : NULL;
        if (name == NULL || PySet_Add(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    int differ = names != NULL && PySet_Size(names) == count;
    Py_XDECREF(names);
    return differ;
}

/* Let other threads go on that wait, and Ctrl-C come: Python looks for both where a function of its own begins. To let
 * go of its lock this often would leave them waiting, as each time the waiting time begins again. */
static int give_turn(Writing *w)
{
    Py_ssize_t used = w->out.used;
    int done = say_by(w, 10, PyBytes_FromStringAndSize(NULL, 0));
    w->out.used = used;
    w->turn = used + STRETCH;
    return done;
}

/* Say a document or an array; 0 in doubt, or for an error, which is set then. */
static int say_container(Writing *w, bytes_at raw, Py_ssize_t size, int array, Py_ssize_t level, int depth)
{
    Names names;
    Py_ssize_t end = end_of(raw, size, 0), count = 0;
    Field f;
    names.count = 0;
    if (end < 0 || end != size - 1 || depth > DEEPEST || !say(w, array ? "[" : "{"))
        return 0;
    for (Py_ssize_t at = 4; at < end; at = f.stop, count++) {
        if (!field_at(raw, at, end, &f))
            return 0;
        bytes_at name = raw + f.name;
        Py_ssize_t length = f.begin - 1 - f.name;
        if (array ? !is_position(name, length, count) : length && name[0] == '$')
            return 0; /* it is written as the list of its fields, or may be */
        if (!array && (count < MOST_FIELDS ? !is_new_name(&names, raw, &f)
                                           : count == MOST_FIELDS && !all_differ(raw, end)))
            return 0;
        if ((count && !say(w, w->comma)) || !say_line(w, level + 1) || (!array && !say_name(w, name, length))
            || !say_value(w, raw + f.begin, &f, level, depth))
            return 0;
        if (w->out.used >= w->turn && !give_turn(w))
            return 0;
    }
    return (!count || say_line(w, level)) && say(w, array ? "]" : "}");
}

static PyObject *text(PyObject *module, PyObject *args)
{
    PyObject *raw, *found = NULL;
    Py_ssize_t start, stop, level;
    int array;
    Writing w = {{NULL, 0, 0}, STRETCH, CANONICAL, NULL, NULL, NULL, NULL};
    if (!PyArg_ParseTuple(args, "Snnp(issz)nO:text", &raw, &start, &stop, &array, &w.notation, &w.colon, &w.comma,
                          &w.indent, &level, &w.scalar))
        return NULL;
    bytes_at bytes = (bytes_at)PyBytes_AsString(raw);
    if (start >= 0 && start <= stop && stop <= PyBytes_Size(raw)
        && say_container(&w, bytes + start, stop - start, array, level, 0))
        found = PyBytes_FromStringAndSize(w.out.bytes, w.out.used);
    PyMem_Free(w.out.bytes);
    if (found != NULL)
        return found;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return NULL; /* somebody wants to stop */
    PyErr_Clear(); /* Python says what is wrong, or writes what only it can */
    Py_RETURN_NONE;
}

/* --- the module */

static PyObject *begin(PyObject *module, PyObject *args)
{
    State *state = PyModule_GetState(module);
    PyObject *fields, *rest, *value;
    if (!PyArg_ParseTuple(args, "OOO!:begin", &fields, &rest, &PyType_Type, &value))
        return NULL;
    Py_INCREF(fields), Py_INCREF(rest), Py_INCREF(value);
    Py_XDECREF(state->fields), Py_XDECREF(state->rest), Py_XDECREF((PyObject *)state->value);
    state->fields = fields, state->rest = rest, state->value = (PyTypeObject *)value;
    state->alloc = (allocfunc)PyType_GetSlot(state->value, Py_tp_alloc);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"begin", begin, METH_VARARGS, "Take the walks in Python, and the class of values."},
    {"elements", elements, METH_VARARGS, "Walk a document: names, types, and where payloads begin and end."},
    {"spans", spans, METH_VARARGS, "All fields of a document; None in doubt."},
    {"fields", fields, METH_O, "The names and values of a document's fields; None in doubt."},
    {"field", field, METH_VARARGS, "The value of a field; None where there is none, False in doubt."},
    {"terms", terms, METH_VARARGS, "A filter or an update as the bytes of a document; None in doubt."},
    {"parted", parted, METH_VARARGS, "Some fields by name, and the document without them; None in doubt."},
    {"survives", survives, METH_O, "Whether a driver surely reads and writes a document as it is."},
    {"glance", glance, METH_VARARGS, "Id, version and time of a document that surely survives; None in doubt."},
    {"text", text, METH_VARARGS, "A document or an array as Extended JSON in UTF-8; None in doubt."},
    {"places", places, METH_VARARGS, "Where an array's elements begin, with its end, and the type of all or 0."},
    {"changed", changed, METH_VARARGS, "The fields that differ; None unless both have the same names in one order."},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    State *state = PyModule_GetState(module);
    state->type_name = PyUnicode_InternFromString("type");
    state->data_name = PyUnicode_InternFromString("data");
    state->walk = (PyTypeObject *)PyType_FromModuleAndSpec(module, &walk_spec, NULL);
    return state->type_name == NULL || state->data_name == NULL || state->walk == NULL ? -1 : 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->fields);
    Py_VISIT(state->rest);
    Py_VISIT(state->value);
    Py_VISIT(state->walk);
    return 0;
}

static int clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->fields);
    Py_CLEAR(state->rest);
    Py_CLEAR(state->value);
    Py_CLEAR(state->type_name);
    Py_CLEAR(state->data_name);
    Py_CLEAR(state->walk);
    return 0;
}

static void release(void *module)
{
    clear((PyObject *)module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_walker", "One pass over the bytes of BSON.", sizeof(State), methods, slots,
    traverse,              clear,     release};

PyMODINIT_FUNC PyInit__walker(void)
{
    return PyModuleDef_Init(&definition);
}
