/* Whether a text has one of many words. `word in text` goes through all of the text for each. */
#include "words.h"

#define MAX_WORDS 255

/* Whether an ASCII word stands at a place of a text; its first character does. */
static int stands(PyObject *word, int kind, const void *text, Py_ssize_t at, Py_ssize_t length) {
    Py_ssize_t n = PyUnicode_GET_LENGTH(word);
    if (n > length - at) return 0;
    const Py_UCS1 *characters = PyUnicode_1BYTE_DATA(word);
    for (Py_ssize_t i = 1; i < n; i++)
        if (PyUnicode_READ(kind, text, at + i) != characters[i]) return 0;
    return 1;
}

PyObject *has_any(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 2 || !PyUnicode_Check(args[0]) || !PyTuple_Check(args[1]) || PyTuple_GET_SIZE(args[1]) > MAX_WORDS) {
        PyErr_Format(PyExc_TypeError, "has_any(text, words): a text and a tuple of at most %d words", MAX_WORDS);
        return NULL;
    }
    /* By its number, from 1 on, the first word with a first character; and of each word the next such one. 0: there is none. */
    unsigned char first[128] = {0}, next[MAX_WORDS + 1];
    for (Py_ssize_t i = PyTuple_GET_SIZE(args[1]); i > 0; i--) {
        PyObject *word = PyTuple_GET_ITEM(args[1], i - 1);
        if (!PyUnicode_Check(word) || !PyUnicode_IS_ASCII(word) || PyUnicode_GET_LENGTH(word) == 0) {
            PyErr_SetString(PyExc_TypeError, "has_any(text, words): words are ASCII, and not empty");
            return NULL;
        }
        unsigned char *place = &first[PyUnicode_1BYTE_DATA(word)[0]];
        next[i] = *place;
        *place = (unsigned char)i;
    }
    int kind = PyUnicode_KIND(args[0]);
    const void *text = PyUnicode_DATA(args[0]);
    Py_ssize_t length = PyUnicode_GET_LENGTH(args[0]);
    for (Py_ssize_t at = 0; at < length; at++) {
        Py_UCS4 character = PyUnicode_READ(kind, text, at);
        for (unsigned char i = character < 128 ? first[character] : 0; i; i = next[i])
            if (stands(PyTuple_GET_ITEM(args[1], i - 1), kind, text, at, length)) Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}
