/* The loops of taps that run for every record, in C: what `starts.py` and `taps.py` do in Python where this is not installed.

   Four iterators. `Counter` numbers the records that a stage pulls; `Groups` takes the hash of a group's key for the number, and notes a second
   hash beside it. `Keys` and `References` stand at the stage's end: they hand on each
   record as it comes, before the next is asked for, and note what the record that was pulled last has to do with it. What has no hash that
   is known here `odd` of `Keys` is asked for; with one, `References` hands on the text of each record, which `odd` makes of objects. A fault in the noting
   is told to `fail`, ends the noting, and never reaches the program. `Column` encodes a column of a segment.

   What is written must be what the Python code writes: tests/spark_listener/rdd_records run every test with both. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define NONE INT64_MIN
#define HASH_OF_NONE 0x6A09E667F3BCC908LL
#define CHECK_OF_TUPLE 0x1F83D9ABFB41BD6BLL

typedef struct {
    PyObject_HEAD
    PyObject *iterator;
    int64_t current, next;
} Counter;

typedef struct {
    PyObject_HEAD
    PyObject *iterator, *flush, *odd, *fail;
    Counter *counter;
    int64_t *hashes, *references;
    Py_ssize_t count, size;
    int noting, text;
} Tap;

/* A Counter whose numbers are the hashes of keys. */
typedef struct {
    Counter counter;
    PyObject *flush, *odd, *check, *fail;
    int64_t *hashes, *checks, of_split; /* makes another of each second hash */
    Py_ssize_t count, size;
    int noting;
} Groups;

static PyTypeObject CounterType, GroupsType, KeysType, ReferencesType;

/* Counter */

static PyObject *counter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    long long first;
    if (!PyArg_ParseTuple(args, "L", &first)) return NULL;
    Counter *self = (Counter *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->current = NONE;
    self->next = first;
    return (PyObject *)self;
}

static PyObject *counter_over(Counter *self, PyObject *iterable) {
    PyObject *iterator = PyObject_GetIter(iterable);
    if (iterator == NULL) return NULL;
    Py_XSETREF(self->iterator, iterator);
    return Py_NewRef((PyObject *)self);
}

static PyObject *counter_next(Counter *self) {
    if (self->iterator == NULL) return NULL;
    PyObject *iterator = Py_NewRef(self->iterator); /* the program has this counter for its iterator, and may call `over` */
    PyObject *record = Py_TYPE(iterator)->tp_iternext(iterator);
    Py_DECREF(iterator);
    if (record != NULL) self->current = self->next++;
    return record;
}

static PyObject *counter_current(Counter *self, void *closure) { return PyLong_FromLongLong(self->current); }

static int counter_traverse(Counter *self, visitproc visit, void *arg) {
    Py_VISIT(self->iterator);
    return 0;
}

static int counter_clear(Counter *self) {
    Py_CLEAR(self->iterator);
    return 0;
}

static void counter_dealloc(Counter *self) {
    PyObject_GC_UnTrack(self);
    counter_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* What both taps have */

static PyObject *tap_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"iterator", "counter", "size", "flush", "fail", "odd", NULL};
    PyObject *iterable, *counter, *flush, *fail, *odd = Py_None;
    Py_ssize_t size;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!nOO|O", names, &iterable, &CounterType, &counter, &size, &flush, &fail, &odd))
        return NULL;
    if (size < 1) {
        PyErr_SetString(PyExc_ValueError, "size must be positive");
        return NULL;
    }
    PyObject *iterator = PyObject_GetIter(iterable);
    if (iterator == NULL) return NULL;
    Tap *self = (Tap *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_DECREF(iterator);
        return NULL;
    }
    self->iterator = iterator;
    self->counter = (Counter *)Py_NewRef(counter);
    self->flush = Py_NewRef(flush);
    self->fail = Py_NewRef(fail);
    self->odd = Py_NewRef(odd);
    self->size = size;
    self->text = type == &ReferencesType && odd != Py_None;
    self->noting = 1;
    self->references = PyMem_Malloc(size * sizeof(int64_t));
    self->hashes = type == &KeysType ? PyMem_Malloc(size * sizeof(int64_t)) : NULL;
    if (self->references == NULL || (type == &KeysType && self->hashes == NULL)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static int tap_traverse(Tap *self, visitproc visit, void *arg) {
    Py_VISIT(self->iterator);
    Py_VISIT(self->flush);
    Py_VISIT(self->fail);
    Py_VISIT(self->odd);
    Py_VISIT(self->counter);
    return 0;
}

static int tap_clear(Tap *self) {
    Py_CLEAR(self->iterator);
    Py_CLEAR(self->flush);
    Py_CLEAR(self->fail);
    Py_CLEAR(self->odd);
    Py_CLEAR(self->counter);
    return 0;
}

static void tap_dealloc(Tap *self) {
    PyObject_GC_UnTrack(self);
    tap_clear(self);
    PyMem_Free(self->hashes);
    PyMem_Free(self->references);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* The fault that is set goes to `fail`, and the record goes on: 0. What is no fault (an interrupt) is the program's: -1. */
static int failed(PyObject *fail, int *noting) {
    PyObject *kind, *fault, *trace;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Fetch(&kind, &fault, &trace);
    PyErr_NormalizeException(&kind, &fault, &trace);
    *noting = 0;
    PyObject *told = PyObject_CallOneArg(fail, fault);
    if (told == NULL) PyErr_Clear();
    Py_XDECREF(told);
    Py_XDECREF(kind);
    Py_XDECREF(fault);
    Py_XDECREF(trace);
    return 0;
}

/* A record on its way, after it was noted (`done`: what that gave). */
static PyObject *handed_on(Tap *self, PyObject *record, int done) {
    if (done == 0 || failed(self->fail, &self->noting) == 0) return record;
    Py_DECREF(record);
    return NULL;
}

/* Hand columns to `flush`, as bytes; `second` may be NULL. */
static int handed_over(PyObject *flush, const int64_t *first, const int64_t *second, Py_ssize_t count) {
    const char *format = second == NULL ? "(y#)" : "(y#y#)";
    Py_ssize_t bytes = count * sizeof(int64_t);
    PyObject *columns = Py_BuildValue(format, (const char *)first, bytes, (const char *)second, bytes);
    PyObject *told = columns == NULL ? NULL : PyObject_CallObject(flush, columns);
    Py_XDECREF(columns);
    if (told == NULL) return -1;
    Py_DECREF(told);
    return 0;
}

/* Hand on what was noted: hashes where there are some, and references. */
static int flushed(Tap *self) {
    Py_ssize_t count = self->count;
    self->count = 0;
    return self->hashes == NULL ? handed_over(self->flush, self->references, NULL, count)
                                : handed_over(self->flush, self->hashes, self->references, count);
}

static PyObject *tap_drain(Tap *self, PyObject *nothing) {
    if (self->noting && self->count > 0 && flushed(self) < 0 && failed(self->fail, &self->noting) < 0) return NULL;
    Py_RETURN_NONE;
}

/* Keys */

static int hash_of(PyObject *odd, PyObject *key, int64_t *hash);

/* The hash of a tuple of the keys' hashes, as `stable_hash` has it. */
static int hash_of_tuple(PyObject *odd, PyObject *key, int64_t *hash) {
    Py_ssize_t size = PyTuple_GET_SIZE(key);
    PyObject *hashes = PyTuple_New(size);
    if (hashes == NULL) return -1;
    for (Py_ssize_t i = 0; i < size; i++) {
        int64_t one;
        PyObject *number = hash_of(odd, PyTuple_GET_ITEM(key, i), &one) < 0 ? NULL : PyLong_FromLongLong(one);
        if (number == NULL) {
            Py_DECREF(hashes);
            return -1;
        }
        PyTuple_SET_ITEM(hashes, i, number);
    }
    *hash = PyObject_Hash(hashes);
    Py_DECREF(hashes);
    return *hash == -1 && PyErr_Occurred() ? -1 : 0;
}

static int hash_of(PyObject *odd, PyObject *key, int64_t *hash) {
    if (PyUnicode_CheckExact(key)) {
        *hash = PyObject_Hash(key);
        return *hash == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (PyLong_CheckExact(key)) {
        *hash = PyObject_Hash(key);
        if (*hash != -2) return *hash == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (key == Py_None) {
        *hash = HASH_OF_NONE;
        return 0;
    }
    if (PyTuple_CheckExact(key)) {
        if (Py_EnterRecursiveCall(" in a key") != 0) return -1;
        int done = hash_of_tuple(odd, key, hash);
        Py_LeaveRecursiveCall();
        return done;
    }
    PyObject *found = PyObject_CallOneArg(odd, key);
    if (found == NULL) return -1;
    *hash = PyLong_AsLongLong(found);
    Py_DECREF(found);
    return *hash == -1 && PyErr_Occurred() ? -1 : 0;
}

/* The key of a pair, a new reference. */
static PyObject *key_of(PyObject *record) {
    if (PyTuple_CheckExact(record) && PyTuple_GET_SIZE(record) > 0) return Py_NewRef(PyTuple_GET_ITEM(record, 0));
    if (PyTuple_Check(record) || PyList_Check(record)) return PySequence_GetItem(record, 0);
    PyErr_Format(PyExc_TypeError, "a record of the type %s is no pair", Py_TYPE(record)->tp_name);
    return NULL;
}

static int note_key(Tap *self, PyObject *record) {
    PyObject *key = key_of(record);
    if (key == NULL) return -1;
    int64_t hash;
    int done = hash_of(self->odd, key, &hash);
    Py_DECREF(key);
    if (done < 0) return -1;
    self->hashes[self->count] = hash;
    self->references[self->count++] = self->counter->current;
    return self->count == self->size ? flushed(self) : 0;
}

static PyObject *keys_next(Tap *self) {
    if (self->iterator == NULL) return NULL;
    PyObject *record = Py_TYPE(self->iterator)->tp_iternext(self->iterator);
    return record == NULL || !self->noting ? record : handed_on(self, record, note_key(self, record));
}

/* Groups */

static PyObject *zero; /* the text of one character, U+0000 */

static int check_of(PyObject *check, PyObject *key, int64_t *found);

/* The second hash of a tuple, as `check_hash` has it. 1: of a part it is not known here. */
static int check_of_tuple(PyObject *check, PyObject *key, int64_t *found) {
    Py_ssize_t size = PyTuple_GET_SIZE(key);
    PyObject *parts = PyTuple_New(2 * size + 1), *first = PyLong_FromLongLong(CHECK_OF_TUPLE);
    int done = parts == NULL || first == NULL ? -1 : 0;
    if (done == 0) {
        PyTuple_SET_ITEM(parts, 0, Py_NewRef(first));
        for (Py_ssize_t i = 0; i < size && done == 0; i++) {
            int64_t part;
            done = check_of(check, PyTuple_GET_ITEM(key, i), &part);
            if (done != 0) break;
            PyObject *high = PyLong_FromUnsignedLong((unsigned long)((uint64_t)part >> 32)), *low = PyLong_FromUnsignedLong((unsigned long)(part & 0xFFFFFFFF));
            PyTuple_SET_ITEM(parts, 2 * i + 1, high);
            PyTuple_SET_ITEM(parts, 2 * i + 2, low);
            if (high == NULL || low == NULL) done = -1;
        }
    }
    if (done == 0) {
        *found = PyObject_Hash(parts);
        done = *found == -1 && PyErr_Occurred() ? -1 : 0;
    }
    Py_XDECREF(parts);
    Py_XDECREF(first);
    return done;
}

/* The second hash of a key. 1: it is not known here. */
static int check_of(PyObject *check, PyObject *key, int64_t *found) {
    if (PyUnicode_CheckExact(key)) {
        PyObject *other = PyUnicode_Concat(zero, key);
        if (other == NULL) return -1;
        *found = PyObject_Hash(other);
        Py_DECREF(other);
        return *found == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (PyLong_CheckExact(key)) {
        int over;
        *found = PyLong_AsLongLongAndOverflow(key, &over);
        return over != 0;
    }
    if (key == Py_None) {
        *found = HASH_OF_NONE;
        return 0;
    }
    if (!PyTuple_CheckExact(key)) return 1;
    if (Py_EnterRecursiveCall(" in a key") != 0) return -1;
    int done = check_of_tuple(check, key, found);
    Py_LeaveRecursiveCall();
    return done;
}

static int note_group(Groups *self, PyObject *record) {
    PyObject *key = key_of(record);
    if (key == NULL) return -1;
    int64_t hash, second = 0;
    int done = hash_of(self->odd, key, &hash);
    if (done == 0) done = check_of(self->check, key, &second);
    if (done == 0) second ^= self->of_split; /* `check` does the same */
    if (done > 0) {
        PyObject *found = PyObject_CallOneArg(self->check, key);
        second = found == NULL ? -1 : PyLong_AsLongLong(found);
        done = second == -1 && PyErr_Occurred() ? -1 : 0;
        Py_XDECREF(found);
    }
    Py_DECREF(key);
    if (done < 0) return -1;
    self->counter.current = hash;
    self->hashes[self->count] = hash;
    self->checks[self->count++] = second;
    if (self->count < self->size) return 0;
    self->count = 0;
    return handed_over(self->flush, self->hashes, self->checks, self->size);
}

static PyObject *groups_next(Groups *self) {
    if (self->counter.iterator == NULL) return NULL;
    PyObject *iterator = Py_NewRef(self->counter.iterator);
    PyObject *record = Py_TYPE(iterator)->tp_iternext(iterator);
    Py_DECREF(iterator);
    if (record == NULL || !self->noting || note_group(self, record) == 0) return record;
    self->counter.current = NONE;
    if (failed(self->fail, &self->noting) == 0) return record;
    Py_DECREF(record);
    return NULL;
}

static PyObject *groups_drain(Groups *self, PyObject *nothing) {
    Py_ssize_t count = self->count;
    self->count = 0;
    if (self->noting && count > 0 && handed_over(self->flush, self->hashes, self->checks, count) < 0 && failed(self->fail, &self->noting) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *groups_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"size", "flush", "fail", "odd", "check", "of_split", NULL};
    PyObject *flush, *fail, *odd, *check;
    Py_ssize_t size;
    long long of_split;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nOOOOL", names, &size, &flush, &fail, &odd, &check, &of_split)) return NULL;
    if (size < 1) {
        PyErr_SetString(PyExc_ValueError, "size must be positive");
        return NULL;
    }
    Groups *self = (Groups *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->counter.current = NONE;
    self->flush = Py_NewRef(flush);
    self->fail = Py_NewRef(fail);
    self->odd = Py_NewRef(odd);
    self->check = Py_NewRef(check);
    self->of_split = of_split;
    self->size = size;
    self->noting = 1;
    self->hashes = PyMem_Malloc(size * sizeof(int64_t));
    self->checks = PyMem_Malloc(size * sizeof(int64_t));
    if (self->hashes == NULL || self->checks == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static int groups_traverse(Groups *self, visitproc visit, void *arg) {
    Py_VISIT(self->flush);
    Py_VISIT(self->fail);
    Py_VISIT(self->odd);
    Py_VISIT(self->check);
    return counter_traverse(&self->counter, visit, arg);
}

static int groups_clear(Groups *self) {
    Py_CLEAR(self->flush);
    Py_CLEAR(self->fail);
    Py_CLEAR(self->odd);
    Py_CLEAR(self->check);
    return counter_clear(&self->counter);
}

static void groups_dealloc(Groups *self) {
    PyObject_GC_UnTrack(self);
    groups_clear(self);
    PyMem_Free(self->hashes);
    PyMem_Free(self->checks);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* References */

/* How many lines a reader finds in bytes and the line end after them. */
static Py_ssize_t lines_in(PyObject *record) {
    const char *text = PyBytes_AS_STRING(record);
    Py_ssize_t size = PyBytes_GET_SIZE(record), lines = 1;
    if (memchr(text, '\n', size) == NULL && memchr(text, '\r', size) == NULL) return 1;
    for (Py_ssize_t i = 0; i < size; i++)
        if (text[i] == '\n' || (text[i] == '\r' && i + 1 < size && text[i + 1] != '\n')) lines++;
    return lines;
}

static int note_reference(Tap *self, PyObject *record) {
    Py_ssize_t times = 1;
    if (self->text) {
        if (!PyBytes_Check(record)) {
            PyErr_Format(PyExc_TypeError, "a record of the type %s is no text", Py_TYPE(record)->tp_name);
            return -1;
        }
        times = lines_in(record);
    }
    for (; times > 0; times--) {
        self->references[self->count++] = self->counter->current;
        if (self->count == self->size && flushed(self) < 0) return -1;
    }
    return 0;
}

/* A record as the bytes that are written of it; takes the record, and gives NULL where the program's own error is set. */
static PyObject *as_text(Tap *self, PyObject *record) {
    if (PyBytes_CheckExact(record)) return record;
    PyObject *text = PyUnicode_CheckExact(record) ? PyUnicode_AsUTF8String(record) : PyObject_CallOneArg(self->odd, record);
    Py_DECREF(record);
    return text;
}

static PyObject *references_next(Tap *self) {
    if (self->iterator == NULL) return NULL;
    PyObject *record = Py_TYPE(self->iterator)->tp_iternext(self->iterator);
    if (record != NULL && self->text) record = as_text(self, record);
    return record == NULL || !self->noting ? record : handed_on(self, record, note_reference(self, record));
}

/* Encoding: docs/reference/capture-format.md, section 4 */

#define MOST_ROWS 65536
#define MOST_VALUES (1 << 17)
#define SLOT_BITS 18
#define SLOTS (1 << SLOT_BITS)
#define TRIED 4096 /* rows: where nearly all of them have values of their own, numbers would save nothing */

static int width_of(uint64_t most) { return most == 0 ? 0 : most < 1ULL << 8 ? 1 : most < 1ULL << 16 ? 2 : most < 1ULL << 32 ? 4 : 8; }

static void put(char *to, Py_ssize_t at, int width, uint64_t value) {
    switch (width) { /* little-endian, whatever the machine */
    case 8: for (int i = 0; i < 8; i++) to[8 * at + i] = (char)(value >> 8 * i); break;
    case 4: for (int i = 0; i < 4; i++) to[4 * at + i] = (char)(value >> 8 * i); break;
    case 2: to[2 * at] = (char)value; to[2 * at + 1] = (char)(value >> 8); break;
    case 1: to[at] = (char)value; break;
    default: break;
    }
}

static PyObject *packed(int width, int form, int64_t base, Py_ssize_t payload, char **at) {
    PyObject *made = PyBytes_FromStringAndSize(NULL, 10 + payload);
    if (made == NULL) return NULL;
    char *to = PyBytes_AS_STRING(made);
    to[0] = (char)width;
    to[1] = (char)form;
    put(to + 2, 0, 8, (uint64_t)base);
    *at = to + 10;
    return made;
}

static int64_t long_at(const char *data, Py_ssize_t i) {
    int64_t value;
    memcpy(&value, data + 8 * i, 8);
    return value;
}

/* A column of a segment, and its list of values: in its blocks their places in the list stand for values that are far apart and come again. */
typedef struct {
    PyObject_HEAD
    uint32_t *slots; /* of a value its place in the list + 1, by its hash; 0: none */
    int64_t *values;
    uint32_t count;
} Column;

static PyTypeObject ColumnType;

static PyObject *column_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return PyArg_ParseTuple(args, "") ? type->tp_alloc(type, 0) : NULL;
}

static void column_dealloc(Column *self) {
    PyMem_Free(self->slots);
    PyMem_Free(self->values);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static uint32_t *slot_of(Column *self, int64_t value) {
    uint32_t slot = (uint32_t)(((uint64_t)value * 0x9E3779B97F4A7C15ULL) >> (64 - SLOT_BITS));
    while (self->slots[slot] != 0 && self->values[self->slots[slot] - 1] != value) slot = (slot + 1) & (SLOTS - 1);
    return &self->slots[slot];
}

/* Let the list end at `count` again. The value that came last is nobody's neighbour, so its slot is free when it goes. */
static void forget(Column *self, uint32_t count) {
    while (self->count > count) {
        *slot_of(self, self->values[self->count - 1]) = 0;
        self->count--;
    }
}

/* The place of each row's value in the list, which may grow by `most`; -1 where that is too few, or numbers would most likely save nothing. */
static int numbered(Column *self, const char *data, Py_ssize_t rows, uint32_t most, uint32_t *numbers) {
    uint32_t before = self->count, limit = most < MOST_VALUES - before ? before + most : MOST_VALUES;
    for (Py_ssize_t i = 0; i < rows; i++) {
        int64_t value = long_at(data, i);
        uint32_t *slot = slot_of(self, value);
        if ((*slot == 0 && self->count == limit) || (i == TRIED && self->count - before > TRIED / 16 * 15)) {
            forget(self, before);
            return -1;
        }
        if (*slot == 0) {
            self->values[self->count++] = value;
            *slot = self->count;
        }
        numbers[i] = *slot - 1;
    }
    return 0;
}

/* A column by numbers, if that takes fewer bytes than `width` a row; else None. */
static PyObject *numbered_column(Column *self, const char *data, Py_ssize_t rows, int width) {
    if (self->slots == NULL) {
        self->slots = PyMem_Calloc(SLOTS, sizeof(uint32_t));
        self->values = PyMem_Malloc(MOST_VALUES * sizeof(int64_t));
        if (self->slots == NULL || self->values == NULL) return PyErr_NoMemory();
    }
    uint32_t *numbers = PyMem_Malloc(rows * sizeof(uint32_t));
    if (numbers == NULL) return PyErr_NoMemory();
    uint32_t before = self->count;
    PyObject *made = NULL;
    if (numbered(self, data, rows, (uint32_t)(rows * width / 8), numbers) == 0) {
        uint32_t added = self->count - before;
        int narrow = self->count <= 1 << 8 ? 1 : self->count <= 1 << 16 ? 2 : 3;
        if (rows * narrow + (Py_ssize_t)added * 8 < rows * width) {
            char *to;
            made = packed(narrow, 3, added, rows * narrow + (Py_ssize_t)added * 8, &to);
            if (made == NULL) {
                PyMem_Free(numbers);
                return NULL;
            }
            for (int byte = 0; byte < narrow; byte++)
                for (Py_ssize_t i = 0; i < rows; i++) *to++ = (char)(numbers[i] >> 8 * byte);
            for (uint32_t i = 0; i < added; i++) put(to, i, 8, (uint64_t)self->values[before + i]);
        } else {
            forget(self, before);
        }
    }
    PyMem_Free(numbers);
    return made != NULL ? made : Py_NewRef(Py_None);
}

static PyObject *column_block(Column *self, PyObject *arg) {
    Py_buffer view;
    if (PyObject_GetBuffer(arg, &view, PyBUF_SIMPLE) < 0) return NULL;
    const char *data = view.buf;
    Py_ssize_t rows = view.len / 8;
    PyObject *made = NULL;
    char *to;
    if (rows < 1 || rows > MOST_ROWS || view.len % 8) {
        PyErr_SetString(PyExc_ValueError, "a column of a block has 1 to 65,536 longs");
        goto done;
    }
    int64_t least = long_at(data, 0), greatest = least, last = least;
    uint64_t widest = 0;
    for (Py_ssize_t i = 1; i < rows; i++) {
        int64_t value = long_at(data, i);
        if (value < least) least = value;
        if (value > greatest) greatest = value;
        uint64_t step = (uint64_t)value - (uint64_t)last;
        uint64_t zigzag = step << 1 ^ (0 - (step >> 63));
        if (zigzag > widest) widest = zigzag;
        last = value;
    }
    int width = width_of((uint64_t)greatest - (uint64_t)least), narrow = width_of(widest), narrowest = narrow < width ? narrow : width;
    if (narrowest > 2) {
        made = numbered_column(self, data, rows, narrowest);
        if (made != Py_None) goto done;
        Py_DECREF(made);
    }
    if (narrow < width) {
        made = packed(narrow, 1, long_at(data, 0), rows * narrow, &to);
        if (made == NULL) goto done;
        uint64_t before = (uint64_t)long_at(data, 0);
        for (Py_ssize_t i = 0; i < rows; i++) {
            uint64_t value = (uint64_t)long_at(data, i), step = value - before;
            put(to, i, narrow, step << 1 ^ (0 - (step >> 63)));
            before = value;
        }
    } else {
        made = packed(width, 0, least, rows * width, &to);
        if (made == NULL) goto done;
        for (Py_ssize_t i = 0; i < rows; i++) put(to, i, width, (uint64_t)long_at(data, i) - (uint64_t)least);
    }
done:
    PyBuffer_Release(&view);
    return made;
}

/* The module */

static PyMethodDef counter_methods[] = {{"over", (PyCFunction)counter_over, METH_O, "The records of an iterable, numbered as they are pulled."}, {NULL}};
static PyGetSetDef counter_getters[] = {{"current", (getter)counter_current, NULL, "The number of the record that was pulled last."}, {NULL}};
static PyMethodDef tap_methods[] = {{"drain", (PyCFunction)tap_drain, METH_NOARGS, "Hand on what was noted and not yet handed on."}, {NULL}};

static PyTypeObject CounterType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "headwater.spark_listener.rdd_records._taps.Counter",
    .tp_doc = "Numbers the records of an iterator as they are pulled.",
    .tp_basicsize = sizeof(Counter),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = counter_new,
    .tp_dealloc = (destructor)counter_dealloc,
    .tp_traverse = (traverseproc)counter_traverse,
    .tp_clear = (inquiry)counter_clear,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = (iternextfunc)counter_next,
    .tp_methods = counter_methods,
    .tp_getset = counter_getters,
};

static PyMethodDef groups_methods[] = {{"drain", (PyCFunction)groups_drain, METH_NOARGS, "Hand on what was noted and not yet handed on."}, {NULL}};
static PyTypeObject GroupsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "headwater.spark_listener.rdd_records._taps.Groups",
    .tp_doc = "A Counter whose numbers are the hashes of the keys of groups; notes two hashes of each.",
    .tp_basicsize = sizeof(Groups),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_base = &CounterType,
    .tp_new = groups_new,
    .tp_dealloc = (destructor)groups_dealloc,
    .tp_traverse = (traverseproc)groups_traverse,
    .tp_clear = (inquiry)groups_clear,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = (iternextfunc)groups_next,
    .tp_methods = groups_methods,
};

#define TAP(NAME, DOC, NEXT)                                                                                                               \
    {                                                                                                                                      \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "headwater.spark_listener.rdd_records._taps." NAME, .tp_doc = DOC,                        \
            .tp_basicsize = sizeof(Tap), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = tap_new,                           \
            .tp_dealloc = (destructor)tap_dealloc, .tp_traverse = (traverseproc)tap_traverse, .tp_clear = (inquiry)tap_clear,              \
            .tp_iter = PyObject_SelfIter, .tp_iternext = (iternextfunc)NEXT, .tp_methods = tap_methods,                                    \
    }
static PyTypeObject KeysType = TAP("Keys", "Hands on pairs, and notes the hash of each key with the number of the record pulled last.", keys_next);
static PyTypeObject ReferencesType = TAP("References", "Hands on records, and notes with each the number of the record pulled last.", references_next);

static PyMethodDef column_methods[] = {
    {"block", (PyCFunction)column_block, METH_O, "The column in the next block of the segment, encoded; the bytes of its longs are given."}, {NULL}};
static PyTypeObject ColumnType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "headwater.spark_listener.rdd_records._taps.Column",
    .tp_doc = "Encodes a column of a segment, block after block.",
    .tp_basicsize = sizeof(Column),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = column_new,
    .tp_dealloc = (destructor)column_dealloc,
    .tp_methods = column_methods,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_taps", "The loops of taps in C.", -1, NULL};

PyMODINIT_FUNC PyInit__taps(void) {
    if (sizeof(Py_hash_t) != sizeof(int64_t)) {
        PyErr_SetString(PyExc_ImportError, "hashes of this Python have not 64 bits");
        return NULL;
    }
    if (zero == NULL && (zero = PyUnicode_FromOrdinal(0)) == NULL) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (PyModule_AddType(module, &CounterType) < 0 || PyModule_AddType(module, &GroupsType) < 0 || PyModule_AddType(module, &KeysType) < 0 ||
        PyModule_AddType(module, &ReferencesType) < 0 || PyModule_AddType(module, &ColumnType) < 0 ||
        PyModule_AddIntConstant(module, "VERSION", 3) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
