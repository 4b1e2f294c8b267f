/* SPDX-License-Identifier: MIT */
#include "sr_ctl_attest.h"

#include <getopt.h>
#include <inttypes.h>
#include <openssl/bio.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sr_attest.h"
#include "sr_ctl_file.h"
#include "sr_ctl_pcrs.h"

enum { EXIT_GOOD = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

#define AGE_SECONDS_DEFAULT 300u
#define YEAR_9999_SECONDS 253402300799u /* the last that RFC 3339 can write */

/* A value of hexadecimal digits from the command line. */
struct given {
	bool given;
	size_t bytes;
	unsigned char data[SR_ATTEST_PUBLIC_KEY_BYTES_MAX];
};

struct options {
	const char *file;
	const char *root; /* NULL: AWS's */
	uint64_t at_ms;
	uint64_t age_s;
	struct given pcr[5]; /* 0, 1, 2, 3, 8 */
	struct given nonce;
	struct given public_key;
	struct given user_data;
};

static const unsigned int pcr_numbers[5] = { 0, 1, 2, 3, 8 };

static const struct {
	const char *name;
	const char *argument;
	const char *help;
	int letter;
} known[] = {
	{ "at", "TIME", "judge it as of then: 2026-11-30T18:00:00Z, or seconds since 1970", 'a' },
	{ "root", "FILE|aws", "the pinned root, PEM or DER; aws (the default) is Root-G1", 'r' },
	{ "pcr0", "HEX", "the image that is allowed: all of PCR 0, 1 and 2", '0' },
	{ "pcr1", "HEX", "...", '1' },
	{ "pcr2", "HEX", "...", '2' },
	{ "pcr3", "HEX", "and the role of the instance", '3' },
	{ "pcr8", "HEX", "and who signed the image", '8' },
	{ "nonce", "HEX", "the nonce that was asked with, 32 bytes", 'n' },
	{ "public-key", "HEX", "the static key of the session", 'k' },
	{ "user-data", "HEX", "the hash of manifest, version, boot and audit key", 'u' },
	{ "max-age", "SECONDS", "of the document, 300 by default", 'm' },
};
#define KNOWN (sizeof known / sizeof known[0])

static int usage(FILE *to, int code)
{
	fprintf(to, "usage: sigringctl attest verify FILE [options]\n"
		    "        print the attestation document in FILE, whether it is valid, and\n"
		    "        whether a session would be opened on it\n"
		    "       sigringctl attest pcrs FILE.eif\n"
		    "        measure an enclave image; prints the `image` line of a trust file\n");
	for (size_t i = 0; i < KNOWN; i++)
		fprintf(to, "  --%-10s %-9s %s\n", known[i].name, known[i].argument, known[i].help);
	fprintf(to, "A nonce, key or user data that are not given have to be there but are not\n"
		    "checked, and the verdict says so; a session checks them all. With no PCR\n"
		    "given no image is allowed.\n");
	return code;
}

static int fail(const char *text)
{
	fprintf(stderr, "sigringctl attest: %s\n", text);
	return EXIT_REFUSED;
}

static int fail_usage(const char *text)
{
	fprintf(stderr, "sigringctl attest: %s; see: sigringctl attest --help\n", text);
	return EXIT_USAGE;
}

/* ---- the command line ---- */

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				      -1;
}

static bool take_hex(struct given *out, const char *text, size_t bytes_min, size_t bytes_max)
{
	size_t digits = strlen(text);

	if (out->given || digits % 2 || digits / 2 < bytes_min || digits / 2 > bytes_max)
		return false;
	for (size_t i = 0; i < digits / 2; i++) {
		int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out->data[i] = (unsigned char)(high << 4 | low);
	}
	out->bytes = digits / 2;
	out->given = true;
	return true;
}

/* @digits decimal digits and nothing else. */
static bool take_digits(const char **text, unsigned int digits, int *value)
{
	*value = 0;
	for (unsigned int i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return false;
		*value = *value * 10 + (**text - '0');
	}
	return true;
}

static bool take_char(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* Z, or the hours and minutes that the local time is ahead. */
static bool take_offset(const char **text, int *seconds)
{
	int hours, minutes, sign = **text == '-' ? -1 : 1;

	*seconds = 0;
	if (take_char(text, 'Z'))
		return true;
	if (!take_char(text, sign < 0 ? '-' : '+') || !take_digits(text, 2, &hours) ||
	    !take_char(text, ':') || !take_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* RFC 3339; a fraction is read to milliseconds. */
static bool take_rfc3339(uint64_t *at_ms, const char *text)
{
	struct tm tm = { 0 }, back;
	int offset, digit, milliseconds = 0, weight = 100;
	time_t seconds;

	if (!take_digits(&text, 4, &tm.tm_year) || !take_char(&text, '-') ||
	    !take_digits(&text, 2, &tm.tm_mon) || !take_char(&text, '-') ||
	    !take_digits(&text, 2, &tm.tm_mday) || !take_char(&text, 'T') ||
	    !take_digits(&text, 2, &tm.tm_hour) || !take_char(&text, ':') ||
	    !take_digits(&text, 2, &tm.tm_min) || !take_char(&text, ':') ||
	    !take_digits(&text, 2, &tm.tm_sec))
		return false;
	if (take_char(&text, '.')) {
		if (!take_digits(&text, 1, &digit))
			return false;
		do {
			milliseconds += digit * weight;
			weight /= 10;
		} while (take_digits(&text, 1, &digit));
	}
	if (!take_offset(&text, &offset) || *text)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	/* timegm() makes a date of anything: one that is none comes back as another. */
	back = tm;
	seconds = timegm(&back);
	if (back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday || back.tm_hour != tm.tm_hour ||
	    back.tm_min != tm.tm_min || back.tm_sec != tm.tm_sec || seconds < offset)
		return false;
	*at_ms = (uint64_t)(seconds - offset) * 1000 + (uint64_t)milliseconds;
	return true;
}

static bool take_time(uint64_t *at_ms, const char *text)
{
	uint64_t seconds;

	if (take_rfc3339(at_ms, text))
		return true;
	if (!sr_ctl_number_take(&seconds, text, YEAR_9999_SECONDS))
		return false;
	*at_ms = seconds * 1000;
	return true;
}

static int take_option(struct options *o, int letter, const char *value)
{
	for (size_t i = 0; i < 5; i++)
		if (letter == (int)('0' + pcr_numbers[i]))
			return take_hex(&o->pcr[i], value, SR_ATTEST_PCR_BYTES,
					SR_ATTEST_PCR_BYTES) ?
				       0 :
				       fail_usage("a PCR wants 96 hexadecimal digits, once");
	switch (letter) {
	case 'a':
		return take_time(&o->at_ms, value) ?
			       0 :
			       fail_usage("--at wants a time such as 2026-11-30T18:00:00Z, or "
					  "seconds since 1970");
	case 'r':
		o->root = strcmp(value, "aws") ? value : NULL;
		return 0;
	case 'n':
		return take_hex(&o->nonce, value, SR_ATTEST_NONCE_BYTES, SR_ATTEST_NONCE_BYTES) ?
			       0 :
			       fail_usage("--nonce wants 64 hexadecimal digits, once");
	case 'k':
		return take_hex(&o->public_key, value, 1, SR_ATTEST_PUBLIC_KEY_BYTES_MAX) ?
			       0 :
			       fail_usage("--public-key wants hexadecimal digits, once");
	case 'u':
		return take_hex(&o->user_data, value, 0, SR_ATTEST_USER_DATA_BYTES_MAX) ?
			       0 :
			       fail_usage("--user-data wants hexadecimal digits, once");
	case 'm':
		return sr_ctl_number_take(&o->age_s, value, YEAR_9999_SECONDS) ?
			       0 :
			       fail_usage("--max-age wants a number of seconds");
	default:
		return fail_usage("unknown option, or one without its value");
	}
}

static int parse_options(struct options *o, int argc, char **argv)
{
	struct option table[KNOWN + 1] = { 0 };
	struct timespec now;
	int letter, ret;

	for (size_t i = 0; i < KNOWN; i++)
		table[i] =
			(struct option){ known[i].name, required_argument, NULL, known[i].letter };
	memset(o, 0, sizeof *o);
	o->age_s = AGE_SECONDS_DEFAULT;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	o->at_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	optind = 0;
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "", table, NULL)) != -1) {
		ret = take_option(o, letter, optarg);
		if (ret)
			return ret;
	}
	if (argc - optind != 1)
		return fail_usage("name one file");
	o->file = argv[optind];
	for (size_t i = 0; i < 3; i++)
		if (o->pcr[i].given != (o->pcr[0].given || o->pcr[3].given || o->pcr[4].given))
			return fail_usage("an image is PCR 0, 1 and 2: give all three");
	return 0;
}

/* ---- the document in words ---- */

static void print_time(const char *label, uint64_t unix_ms)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;
	char text[32];

	if (unix_ms / 1000 > YEAR_9999_SECONDS || !gmtime_r(&seconds, &tm) ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		printf("%s%" PRIu64 " ms since 1970\n", label, unix_ms);
	else
		printf("%s%s.%03uZ\n", label, text, (unsigned int)(unix_ms % 1000));
}

static void print_hex(const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		printf("%02x", data[i]);
}

static void print_view(const char *label, const struct sr_attest_view *view)
{
	printf("%s", label);
	if (!view->data)
		printf("none\n");
	else {
		print_hex(view->data, view->bytes);
		printf("%s(%zu bytes)\n", view->bytes ? " " : "", view->bytes);
	}
}

/* Registers that nothing was measured into are all zero, and say nothing. */
static void print_pcrs(const struct sr_attest_doc *doc)
{
	static const unsigned char zero[SR_ATTEST_PCR_BYTES];
	char label[16];

	for (size_t i = 0; i < SR_ATTEST_PCRS_MAX; i++) {
		bool measured = memcmp(doc->pcr[i], zero, sizeof zero) != 0;

		if (!(doc->pcr_mask >> i & 1) || (!measured && i > 2))
			continue;
		(void)snprintf(label, sizeof label, "PCR%zu", i);
		printf("%-12s", label);
		print_hex(doc->pcr[i], SR_ATTEST_PCR_BYTES);
		printf("%s\n", measured ? "" : i == 0 ? " (debug mode)" : " (zero)");
	}
}

/* XN_FLAG_RFC2253 escapes control characters, and whatever is not ASCII. */
static void print_cert(size_t index, const struct sr_attest_view *der)
{
	const unsigned char *p = der->data;
	X509 *cert = d2i_X509(NULL, &p, (long)der->bytes);
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long bytes;

	printf("chain %-6zu", index);
	if (!cert || !bio) {
		printf("not a certificate\n");
	} else {
		(void)X509_NAME_print_ex(bio, X509_get_subject_name(cert), 0, XN_FLAG_RFC2253);
		(void)BIO_puts(bio, "\n            ");
		(void)ASN1_TIME_print(bio, X509_get0_notBefore(cert));
		(void)BIO_puts(bio, " to ");
		(void)ASN1_TIME_print(bio, X509_get0_notAfter(cert));
		bytes = BIO_get_mem_data(bio, &text);
		printf("%.*s\n", (int)bytes, text);
	}
	BIO_free(bio);
	X509_free(cert);
}

static void print_doc(const struct sr_attest_doc *doc)
{
	printf("module      %s\n", doc->module_id);
	print_time("time        ", doc->timestamp_ms);
	print_pcrs(doc);
	for (size_t i = 0; i < doc->cert_count; i++)
		print_cert(i, &doc->certs[i]);
	print_view("public key  ", &doc->public_key);
	print_view("user data   ", &doc->user_data);
	print_view("nonce       ", &doc->nonce);
}

/* ---- the verdicts ---- */

static int load_root(struct sr_attest_root *root, const struct options *o)
{
	unsigned char file[SR_ATTEST_BYTES_MAX];
	ssize_t bytes;

	if (!o->root) {
		sr_attest_root_aws(root);
		return 0;
	}
	bytes = sr_ctl_file_read(o->root, file, sizeof file);
	if (bytes == (ssize_t)sizeof file)
		bytes = -EFBIG;
	if (bytes < 0) {
		fprintf(stderr, "sigringctl attest: cannot read %s: %s\n", o->root,
			strerror((int)-bytes));
		return -1;
	}
	if (sr_attest_root_parse(root, file, (size_t)bytes)) {
		fprintf(stderr, "sigringctl attest: %s holds no certificate, in PEM or DER\n",
			o->root);
		return -1;
	}
	return 0;
}

static struct sr_attest_view expected(const struct given *given, struct sr_attest_view own)
{
	return given->given ? (struct sr_attest_view){ given->data, given->bytes } : own;
}

/* What was not given is compared with what the document itself says, which proves
 * nothing but that it is there; the verdict says so. */
static enum sr_attest_code accept(const struct sr_attest_doc *doc, const struct options *o)
{
	struct sr_attest_view asked = expected(&o->nonce, doc->nonce);
	struct sr_attest_nonce nonce = { 0 };
	struct sr_attest_image image = {
		.with_pcr3 = o->pcr[3].given,
		.with_pcr8 = o->pcr[4].given,
	};
	struct sr_attest_expect expect = {
		.images = &image,
		.image_count = o->pcr[0].given ? 1 : 0,
		.public_key = expected(&o->public_key, doc->public_key),
		.user_data = expected(&o->user_data, doc->user_data),
		.age_ms_max = o->age_s * 1000,
	};

	memcpy(image.pcr0, o->pcr[0].data, SR_ATTEST_PCR_BYTES);
	memcpy(image.pcr1, o->pcr[1].data, SR_ATTEST_PCR_BYTES);
	memcpy(image.pcr2, o->pcr[2].data, SR_ATTEST_PCR_BYTES);
	memcpy(image.pcr3, o->pcr[3].data, SR_ATTEST_PCR_BYTES);
	memcpy(image.pcr8, o->pcr[4].data, SR_ATTEST_PCR_BYTES);
	if (asked.bytes == sizeof nonce.value)
		memcpy(nonce.value, asked.data, sizeof nonce.value);
	return sr_attest_accept(doc, &expect, &nonce, o->at_ms);
}

static void print_unchecked(const struct options *o)
{
	const char *comma = "not checked ";

	for (int i = 0; i < 3; i++) {
		const struct given *all[] = { &o->nonce, &o->public_key, &o->user_data };
		static const char *const names[] = { "nonce", "public key", "user data" };

		if (all[i]->given)
			continue;
		printf("%s%s", comma, names[i]);
		comma = ", ";
	}
	if (*comma == ',')
		printf("\n");
}

static int print_verdict(const char *label, const char *good, enum sr_attest_code code)
{
	if (code == SR_ATTEST_OK)
		printf("%s%s\n", label, good);
	else
		printf("%sREFUSED: %s (code %d)\n", label, sr_attest_text(code), (int)code);
	return code == SR_ATTEST_OK ? EXIT_GOOD : EXIT_REFUSED;
}

static int judge(const struct options *o, const unsigned char *document, size_t bytes)
{
	struct sr_attest_root root;
	struct sr_attest_doc doc;
	enum sr_attest_code code;
	int ret;

	if (load_root(&root, o))
		return EXIT_REFUSED;
	code = sr_attest_parse(&doc, document, bytes);
	if (code != SR_ATTEST_OK)
		return print_verdict("document    ", "", code);
	print_doc(&doc);

	code = sr_attest_document(&doc, document, bytes, &root, o->at_ms, NULL);
	printf("root        %s\n",
	       o->root ? "a MOCK, or whatever is in the file given" : "AWS Nitro Enclaves Root-G1");
	print_time("judged at   ", o->at_ms);
	ret = print_verdict("document    ", "valid", code);
	if (code != SR_ATTEST_OK) {
		printf("session     REFUSED: the document is not valid\n");
		return ret;
	}
	ret = print_verdict("session     ", "acceptable", accept(&doc, o));
	print_unchecked(o);
	return ret;
}

static int run_verify(int argc, char **argv)
{
	/* One more than is legal, so that the verdict is sr_attest's. */
	static unsigned char document[SR_ATTEST_BYTES_MAX + 2];
	static struct options options;
	ssize_t bytes;
	int ret = parse_options(&options, argc, argv);

	if (ret)
		return ret;
	bytes = sr_ctl_file_read(options.file, document, sizeof document);
	if (bytes < 0) {
		fprintf(stderr, "sigringctl attest: cannot read %s: %s\n", options.file,
			strerror((int)-bytes));
		return EXIT_REFUSED;
	}
	ret = judge(&options, document, (size_t)bytes);
	if (fflush(stdout))
		return fail("cannot write to standard output");
	return ret;
}

int sr_ctl_attest(int argc, char **argv)
{
	if (sr_ctl_help_wanted(argc, argv))
		return usage(stdout, EXIT_GOOD);
	if (argc >= 2 && !strcmp(argv[1], "verify"))
		return run_verify(argc - 1, argv + 1);
	if (argc == 3 && !strcmp(argv[1], "pcrs"))
		return sr_ctl_pcrs(argv[2]);
	return usage(stderr, EXIT_USAGE);
}
