/* Arguments are reduced to a short interval, in which a polynomial has errors well below the last place; what is lost by
 * rounding where that counts is kept apart and added before the last rounding. Arguments for which this does not hold go
 * to libc one by one; what a number becomes does not depend on its neighbours. Multiplications and additions are fused
 * (`relaxed_madd`), which the engine makes the same on all machines. */
#include "functions.h"
#include <math.h>
#include "operands.h"

/* Which ones are fused is written, for results don't depend on the compiler then. */
#pragma STDC FP_CONTRACT OFF

/* ---------------------------------------------------------------- coefficients */

/* Polynomials through the functions at Chebyshev's nodes, calculated with 250 bits. */
/* (exp(r) - 1 - r) / r^2, |r| up to log(2) / 2, for double, which has a table too, log(2) / 256. */
static const double EXP_double[] = {0x1.fffffffffff58p-2, 0x1.5555555555525p-3, 0x1.55555acd08c2ep-5, 0x1.11111430e54e5p-7};
static const float EXP_float[] = {0x1p-1f, 0x1.5554dcp-3f, 0x1.555518p-5f, 0x1.120be2p-7f, 0x1.6d117cp-10f};
/* (2^r - 1 - r log(2)) / r^2, |r| up to 1/2, for double 1/256. */
static const double EXP2_double[] = {0x1.ebfbdff82c4edp-3, 0x1.c6b08d704a08p-5, 0x1.3b2abc07c93dp-7, 0x1.5d8802783e71cp-10};
static const float EXP2_float[] = {0x1.ebfbep-3f, 0x1.c6afecp-5f, 0x1.3b2a8p-7f, 0x1.5ec90cp-10f, 0x1.43e788p-13f};
/* (tanh(d) - d) / d^3 by d^2, |d| up to 2^-3.5; larger ones are for what is nearly 1. */
static const double TANH_double[] = {
    -0x1.5555555555552p-2, 0x1.1111111105a96p-3, -0x1.ba1ba103912fbp-5, 0x1.664d4905506a7p-6, -0x1.2024b08296c8dp-7,
};
/* (log(1 + r) - r) / r^2, |r| up to 2^-6. */
static const double LOG_double[] = {
    -0x1p-1, 0x1.55555555561c8p-2, -0x1.0000000000b34p-2, 0x1.999998d26c9b2p-3, -0x1.555554a212f68p-3, 0x1.24ab2e4a28b0bp-3,
    -0x1.001667dbd1bdp-3,
};
/* (log((1 + s) / (1 - s)) - 2s) / s^3 by s^2, |s| up to 3 - sqrt(8). */
static const float LOG_float[] = {0x1.55555cp-1f, 0x1.997c12p-2f, 0x1.2eeb8p-2f};
/* (cbrt(1 + r) - 1) / r, |r| up to 1/63. */
static const double CBRT_double[] = {
    0x1.5555555555555p-2, -0x1.c71c71c71cee9p-4, 0x1.f9add3c0cb1a2p-5, -0x1.511e8cb246db5p-5, 0x1.ee71128268af7p-6, -0x1.80ae2054a5c52p-6,
    0x1.3769a0bf0c0b7p-6,
};
/* (sin(r) - r) / r^3 by r^2, |r| up to pi / 4. */
static const double SIN_double[] = {
    -0x1.5555555555555p-3, 0x1.1111111110ba5p-7, -0x1.a01a019e80693p-13, 0x1.71de379252004p-19, -0x1.ae60069e53ef1p-26,
    0x1.5e098556d302ep-33,
};
static const float SIN_float[] = {-0x1.555552p-3f, 0x1.110c24p-7f, -0x1.9ac6fcp-13f};
/* (cos(r) - 1 + r^2 / 2) / r^4 by r^2. */
static const double COS_double[] = {
    0x1.5555555555555p-5, -0x1.6c16c16c16960p-10, 0x1.a01a019f4d0edp-16, -0x1.27e4fa15bd814p-22, 0x1.1eeb66b683028p-29,
    -0x1.907c0e63adbb6p-37,
};
static const float COS_float[] = {0x1.555554p-5f, -0x1.6c12cep-10f, 0x1.9bd67p-16f};
/* (tan(r) - r) / r^3 by r^2, |r| up to pi / 4: a quotient of two polynomials, through the function in the same way. */
static const double TAN_ABOVE_double[] = {
    0x1.5555555555555p-2, -0x1.5f4a11c18a44bp-6, 0x1.00b1e6ec99ce8p-12, -0x1.32d8d848d2141p-26,
};
static const double TAN_BELOW_double[] = {0x1p+0, -0x1.db777cede3867p-2, 0x1.925f459c217f3p-6, -0x1.0c630cad2d34ep-12};
static const float TAN_ABOVE_float[] = {0x1.555556p-2f, -0x1.e79b42p-7f};
static const float TAN_BELOW_float[] = {0x1p+0f, -0x1.c7502ap-2f, 0x1.055bd2p-6f};
/* (arctan(t) - t) / t^3 by t^2, |t| up to sqrt(2) - 1. */
static const double ATAN_double[] = {
    -0x1.5555555555555p-2, 0x1.9999999999952p-3, -0x1.249249248d684p-3, 0x1.c71c71c2f37e8p-4, -0x1.745d165a9c002p-4,
    0x1.3b139279535a8p-4, -0x1.110e81459346ep-4, 0x1.e19978381e052p-5, -0x1.ac761b5db4f38p-5, 0x1.74c9760b1bea4p-5,
    -0x1.1aff6533dd0e5p-5, 0x1.0a5f8c60d732cp-6,
};
/* The same for |t| up to 1/32. */
static const double ATAN_OF_REST_double[] = {-0x1.555555555554ap-2, 0x1.99999998dfb88p-3, -0x1.24923a9e77a75p-3, 0x1.c66279550179p-4};
static const float ATAN_float[] = {-0x1.555554p-2f, 0x1.99972cp-3f, -0x1.241f98p-3f, 0x1.b802eep-4f, -0x1.081978p-4f};
/* (arcsin(a) - a) / a^3 by a^2, |a| up to 1/2. */
static const double ASIN_double[] = {
    0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5, 0x1.f1c71c1db0623p-6, 0x1.6e8bb1c8209a2p-6,
    0x1.1c4d35cf95421p-6, 0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7, 0x1.52420b04b37bep-7, 0x1.65a9c4dfcf8b2p-8,
    0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7, 0x1.d72b2bc8155f8p-6,
};
static const float ASIN_float[] = {
    0x1.555554p-3f, 0x1.33343p-4f, 0x1.6d5bbap-5f, 0x1.fd8da2p-6f, 0x1.18f91ep-6f, 0x1.13fed4p-5f,
};
/* 1 / (1 + f), to 9 bits. */
static const float INVERSE_float[] = {0x1.ff5p-1f, -0x1.02ecp+0f, 0x1.1a4ap+0f, -0x1.c5dp-1f};

/* 1/c and log(c) for fractions from LEAST_FRACTION to twice that, by the first 7 bits of their difference to it as they are
 * stored. Of the 2^23 multiples of 2^-44 around the inverse of the middle of such fractions, 1/c is the one for which log(c) is
 * nearest to a multiple of 2^-43, as which it is written: they differ by less than 2^-65. From 1 - 2^-6 to 1 + 2^-6 c is 1. */
#define LEAST_FRACTION (180.0 / 256)
static const double LOG_TABLE[128][2] = {
    {0x1.6b1493346fep+0, -0x1.65d55ffeb18p-2}, {0x1.6914700bc19p+0, -0x1.602cfe706p-2}, {0x1.6719f39bafp+0, -0x1.5a8cae65dfp-2},
    {0x1.6524f7cc8b2p+0, -0x1.54f4303435p-2}, {0x1.63356b37b09p+0, -0x1.4f637dd2348p-2},
    {0x1.614b33da624p+0, -0x1.49da7786c5p-2}, {0x1.5f66445d40ep+0, -0x1.4459213cf9p-2},
    {0x1.5d867fa9723p+0, -0x1.3edf503e83p-2}, {0x1.5babc9e61ecp+0, -0x1.396cdc01828p-2},
    {0x1.59d61d084bcp+0, -0x1.3401db217dp-2}, {0x1.5805601a241p+0, -0x1.2e9e2bdbe18p-2},
    {0x1.56397d2ef29p+0, -0x1.2941b444008p-2}, {0x1.54725c3a487p+0, -0x1.23ec52f9398p-2},
    {0x1.52aff7a3891p+0, -0x1.1e9e1d30fap-2}, {0x1.50f22d7ac4ep+0, -0x1.1956d1f0d68p-2},
    {0x1.4f38f835db3p+0, -0x1.14168527ebp-2}, {0x1.4d843c229cp+0, -0x1.0edd06adbbp-2}, {0x1.4bd3eb1f037p+0, -0x1.09aa4ec021p-2},
    {0x1.4a27fcb0999p+0, -0x1.047e6689a48p-2}, {0x1.488054155aep+0, -0x1.feb22f73c3p-3},
    {0x1.46dce2cbff8p+0, -0x1.f474ae3b0cp-3}, {0x1.453d9ea34c7p+0, -0x1.ea444cdc9p-3}, {0x1.43a275fa6c5p+0, -0x1.e020def6ebp-3},
    {0x1.420b534b9b5p+0, -0x1.d60a1dadd3p-3}, {0x1.40782fad359p+0, -0x1.cc001d4c9ep-3}, {0x1.3ee8f74c168p+0, -0x1.c2029ece2p-3},
    {0x1.3d5d995377cp+0, -0x1.b811747a23p-3}, {0x1.3bd60bd2cf5p+0, -0x1.ae2c9ba16bp-3}, {0x1.3a5245af77p+0, -0x1.a4541639aep-3},
    {0x1.38d22c8561dp+0, -0x1.9a877457f7p-3}, {0x1.3755be69aacp+0, -0x1.90c6e42ee3p-3},
    {0x1.35dce5dfaedp+0, -0x1.871212c776p-3}, {0x1.34679d280e1p+0, -0x1.7d691368f3p-3},
    {0x1.32f5d09096ap+0, -0x1.73cb9bf9aap-3}, {0x1.318775483ap+0, -0x1.6a399bd3e2p-3}, {0x1.301c7f1a77dp+0, -0x1.60b2f80148p-3},
    {0x1.2eb4e692c29p+0, -0x1.5737b48905p-3}, {0x1.2d50a121679p+0, -0x1.4dc7bfc6c8p-3},
    {0x1.2bef95cfc98p+0, -0x1.4462a4cb67p-3}, {0x1.2a91c8023cap+0, -0x1.3b08ae64d7p-3},
    {0x1.293729abf0fp+0, -0x1.31b9aff86dp-3}, {0x1.27df9f9e4fdp+0, -0x1.2875209cebp-3},
    {0x1.268b33f0b34p+0, -0x1.1f3b7784c4p-3}, {0x1.2539d89f466p+0, -0x1.160c851d22p-3},
    {0x1.23eb7b0243bp+0, -0x1.0ce7f7d8afp-3}, {0x1.22a0159ee1bp+0, -0x1.03cdd900bdp-3}, {0x1.21579b09f4bp+0, -0x1.f57bf29dfp-4},
    {0x1.201200f2187p+0, -0x1.e3707c555p-4}, {0x1.1ecf40ab117p+0, -0x1.d1794c0d2ap-4}, {0x1.1d8f560b84p+0, -0x1.bf96819f2ap-4},
    {0x1.1c52337cdefp+0, -0x1.adc7b4a49ap-4}, {0x1.1b17c90bc94p+0, -0x1.9c0c57b75ap-4},
    {0x1.19e00ef6158p+0, -0x1.8a64511106p-4}, {0x1.18ab0487e59p+0, -0x1.78cfec8316p-4},
    {0x1.17789f4859bp+0, -0x1.674ee70fc8p-4}, {0x1.1648d3c60cap+0, -0x1.55e0ed5beap-4},
    {0x1.151b9c643f1p+0, -0x1.4485ffe782p-4}, {0x1.13f0e900575p+0, -0x1.333d821e94p-4},
    {0x1.12c8b845746p+0, -0x1.2207b092d4p-4}, {0x1.11a301ad046p+0, -0x1.10e45c5288p-4}, {0x1.107fb8097ap+0, -0x1.ffa61db79cp-5},
    {0x1.0f5ede0f1cp+0, -0x1.dda87d2e9cp-5}, {0x1.0e4065605e6p+0, -0x1.bbcec0bfbcp-5}, {0x1.0d2444f43adp+0, -0x1.9a186e20fcp-5},
    {0x1.0c0a7c01199p+0, -0x1.78860384f4p-5}, {0x1.0af2f8c8a6bp+0, -0x1.5715f74db8p-5},
    {0x1.09ddbaea951p+0, -0x1.35c8cf0624p-5}, {0x1.08cabc5df45p+0, -0x1.149e61dabcp-5},
    {0x1.07b9f009c01p+0, -0x1.e72b52def8p-6}, {0x1.06ab5ae598bp+0, -0x1.a55f9a3d7p-6}, {0x1.059eed19e2ap+0, -0x1.63d6d7fbap-6},
    {0x1.04949d5690cp+0, -0x1.228fd6a17p-6}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0}, {0x1p+0, 0},
    {0x1.f6310e890aep-1, 0x1.3ce9c9fd68p-6}, {0x1.f25f6bd968p-1, 0x1.b9fb08efcp-6}, {0x1.ee9c77d1966p-1, 0x1.1b0e1812f4p-5},
    {0x1.eae808b6236p-1, 0x1.58a5a99d2p-5}, {0x1.e741b22fd06p-1, 0x1.95c7ad28bp-5}, {0x1.e3a91b3d81p-1, 0x1.d2767b4bf8p-5},
    {0x1.e01e03f6e82p-1, 0x1.0759718722p-4}, {0x1.dca0236f552p-1, 0x1.253f326bdep-4}, {0x1.d92f20e3ecep-1, 0x1.42edd7356ap-4},
    {0x1.d5cacde54a4p-1, 0x1.6065576c56p-4}, {0x1.d272c989cbcp-1, 0x1.7da76d15acp-4}, {0x1.cf26ea9ab38p-1, 0x1.9ab3f999ep-4},
    {0x1.cbe6d63429ep-1, 0x1.b78c9efa7ap-4}, {0x1.c8b26350078p-1, 0x1.d43152b108p-4}, {0x1.c5894b56be4p-1, 0x1.f0a31b99bp-4},
    {0x1.c26b55bfcfcp-1, 0x1.0671474881p-3}, {0x1.bf58397884ep-1, 0x1.1478712ab4p-3}, {0x1.bc4fdbae0a6p-1, 0x1.2266d8fa6ep-3},
    {0x1.b951daebcaap-1, 0x1.303d95a01p-3}, {0x1.b65e3457802p-1, 0x1.3dfc0e8602p-3}, {0x1.b3747fe44d8p-1, 0x1.4ba385bbe9p-3},
    {0x1.b094af91418p-1, 0x1.59339e65dp-3}, {0x1.adbe8d89b44p-1, 0x1.66acb9a2ecp-3}, {0x1.aaf1ce213dp-1, 0x1.740fa68c93p-3},
    {0x1.a82e68f1d4ap-1, 0x1.815bf7649fp-3}, {0x1.a5741144d4cp-1, 0x1.8e9289fe0dp-3}, {0x1.a2c2a4b62e6p-1, 0x1.9bb3755ce5p-3},
    {0x1.a019faed122p-1, 0x1.a8bef0c1aep-3}, {0x1.9d79f48264ap-1, 0x1.b5b50ad321p-3}, {0x1.9ae256055fep-1, 0x1.c2966095f8p-3},
    {0x1.9852ee4bdap-1, 0x1.cf6361ac2bp-3}, {0x1.95cbaa2cee6p-1, 0x1.dc1beb2ffcp-3}, {0x1.934c6b45646p-1, 0x1.e8c0146e44p-3},
    {0x1.90d4f79b92p-1, 0x1.f5508445dap-3}, {0x1.8e652006302p-1, 0x1.00e6d80aed8p-2}, {0x1.8bfce138bb4p-1, 0x1.071b9794218p-2},
    {0x1.899c097d6dp-1, 0x1.0d46c4c95ep-2}, {0x1.874275974ap-1, 0x1.1368806747p-2}, {0x1.84f0088b872p-1, 0x1.1980dc5de88p-2},
    {0x1.82a4a1ba6c4p-1, 0x1.1f8ff590cf8p-2}, {0x1.80601b9ad98p-1, 0x1.2595f7837p-2}, {0x1.7e225894426p-1, 0x1.2b92fa4e4p-2},
    {0x1.7beb38ae264p-1, 0x1.31871dcfe1p-2}, {0x1.79baabe7376p-1, 0x1.377258272d8p-2}, {0x1.779080ec128p-1, 0x1.3d54fad875p-2},
    {0x1.756ca6c9f2p-1, 0x1.432f014289p-2}, {0x1.734f0d73c32p-1, 0x1.490064eac08p-2}, {0x1.713780047b4p-1, 0x1.4ec98619928p-2},
    {0x1.6f260450d8ap-1, 0x1.548a243161p-2}, {0x1.6d1a6916a3p-1, 0x1.5a429851dp-2},
};

/* 2^(j / 128) for j from 0, its bits as an integer less 2^45 j, so that adding 2^45 n makes it 2^(n / 128) for all n that end like
 * j; and what is left of it, as a part of it. */
static const double EXP_TABLE[128][2] = {
    {0x1p+0, 0}, {0x1.ff63da9fb3335p-1, 0x1.b3cp-54}, {0x1.fec9a3e778061p-1, -0x1.16p-56},
    {0x1.fe315e86e7f85p-1, -0x1.05ep-54}, {0x1.fd9b0d3158574p-1, 0x1.cd2p-55}, {0x1.fd06b29ddf6dep-1, -0x1.bcep-55},
    {0x1.fc74518759bc8p-1, 0x1.0f8p-57}, {0x1.fbe3ecac6f383p-1, 0x1.0a4p-54}, {0x1.fb5586cf9890fp-1, 0x1.79ap-54},
    {0x1.fac922b7247f7p-1, 0x1.eb6p-55}, {0x1.fa3ec32d3d1a2p-1, 0x1.ebep-60}, {0x1.f9b66affed31bp-1, -0x1.a04p-57},
    {0x1.f9301d0125b51p-1, -0x1.556p-54}, {0x1.f8abdc06c31ccp-1, -0x1.08p-58}, {0x1.f829aaea92dep-1, -0x1.1cap-54},
    {0x1.f7a98c8a58e51p-1, 0x1.0d4p-55}, {0x1.f72b83c7d517bp-1, -0x1.01cp-55}, {0x1.f6af9388c8deap-1, -0x1.f2p-55},
    {0x1.f635beb6fcb75p-1, 0x1.b8ap-55}, {0x1.f5be084045cd4p-1, -0x1.6dap-54}, {0x1.f54873168b9aap-1, 0x1.aecp-54},
    {0x1.f4d5022fcd91dp-1, -0x1.fe8p-55}, {0x1.f463b88628cd6p-1, 0x1.a7p-55}, {0x1.f3f49917ddc96p-1, 0x1.07ap-55},
    {0x1.f387a6e756238p-1, 0x1.68ep-54}, {0x1.f31ce4fb2a63fp-1, 0x1.75ep-55}, {0x1.f2b4565e27cddp-1, 0x1.048p-55},
    {0x1.f24dfe1f56381p-1, -0x1.6b8p-54}, {0x1.f1e9df51fdee1p-1, 0x1.2f8p-55}, {0x1.f187fd0dad99p-1, -0x1.d22p-60},
    {0x1.f1285a6e4030bp-1, 0x1.b38p-55}, {0x1.f0cafa93e2f56p-1, 0x1.e14p-57}, {0x1.f06fe0a31b715p-1, 0x1.34ep-55},
    {0x1.f0170fc4cd831p-1, 0x1.642p-55}, {0x1.efc08b26416ffp-1, 0x1.fdep-55}, {0x1.ef6c55f929ff1p-1, -0x1.6a4p-55},
    {0x1.ef1a7373aa9cbp-1, -0x1.24ap-54}, {0x1.eecae6d05d866p-1, -0x1.908p-54}, {0x1.ee7db34e59ff7p-1, -0x1.1d2p-56},
    {0x1.ee32dc313a8e5p-1, -0x1.91ap-54}, {0x1.edea64c123422p-1, 0x1.5ap-55}, {0x1.eda4504ac801cp-1, -0x1.312p-54},
    {0x1.ed60a21f72e2ap-1, -0x1.8a8p-58}, {0x1.ed1f5d950a897p-1, -0x1.c2cp-56}, {0x1.ece086061892dp-1, 0x1.364p-59},
    {0x1.eca41ed1d0057p-1, 0x1.666p-54}, {0x1.ec6a2b5c13cdp-1, 0x1.eccp-57}, {0x1.ec32af0d7d3dep-1, 0x1.4p-54},
    {0x1.ebfdad5362a27p-1, 0x1.69p-56}, {0x1.ebcb299fddd0dp-1, 0x1.31ep-54}, {0x1.eb9b2769d2ca7p-1, -0x1.f94p-55},
    {0x1.eb6daa2cf6642p-1, -0x1.7dep-55}, {0x1.eb42b569d4f82p-1, -0x1.8dep-56}, {0x1.eb1a4ca5d920fp-1, -0x1.612p-55},
    {0x1.eaf4736b527dap-1, 0x1.336p-54}, {0x1.ead12d497c7fdp-1, 0x1.b98p-56}, {0x1.eab07dd485429p-1, 0x1.064p-54},
    {0x1.ea9268a5946b7p-1, 0x1.4c8p-60}, {0x1.ea76f15ad2148p-1, 0x1.432p-54}, {0x1.ea5e1b976dc09p-1, -0x1.ce4p-55},
    {0x1.ea47eb03a5585p-1, -0x1.c34p-55}, {0x1.ea34634ccc32p-1, -0x1.454p-55}, {0x1.ea23882552225p-1, -0x1.3cep-54},
    {0x1.ea155d44ca973p-1, 0x1.71p-58}, {0x1.ea09e667f3bcdp-1, -0x1.3b4p-54}, {0x1.ea012750bdabfp-1, -0x1.a12p-57},
    {0x1.e9fb23c651a2fp-1, -0x1.368p-57}, {0x1.e9f7df9519484p-1, -0x1.0dcp-55}, {0x1.e9f75e8ec5f74p-1, -0x1.82p-56},
    {0x1.e9f9a48a58174p-1, -0x1.6eep-55}, {0x1.e9feb564267c9p-1, -0x1.61ap-55}, {0x1.ea0694fde5d3fp-1, 0x1.09cp-54},
    {0x1.ea11473eb0187p-1, -0x1.b32p-56}, {0x1.ea1ed0130c132p-1, 0x1.4ecp-54}, {0x1.ea2f336cf4e62p-1, 0x1.5ecp-57},
    {0x1.ea427543e1a12p-1, -0x1.8a2p-55}, {0x1.ea589994cce13p-1, -0x1.36ap-54}, {0x1.ea71a4623c7adp-1, -0x1.05ep-55},
    {0x1.ea8d99b4492edp-1, -0x1.4d4p-54}, {0x1.eaac7d98a6699p-1, 0x1.0aep-54}, {0x1.eace5422aa0dbp-1, 0x1.db8p-55},
    {0x1.eaf3216b5448cp-1, -0x1.5b6p-57}, {0x1.eb1ae99157736p-1, 0x1.bf6p-56}, {0x1.eb45b0b91ffc6p-1, -0x1.30ap-54},
    {0x1.eb737b0cdc5e5p-1, -0x1.daap-58}, {0x1.eba44cbc8520fp-1, -0x1.c24p-57}, {0x1.ebd829fde4e5p-1, -0x1.244p-54},
    {0x1.ec0f170ca07bap-1, -0x1.5cap-55}, {0x1.ec49182a3f09p-1, 0x1.1bp-56}, {0x1.ec86319e32323p-1, 0x1.dd2p-57},
    {0x1.ecc667b5de565p-1, -0x1.7c6p-55}, {0x1.ed09bec4a2d33p-1, 0x1.b1cp-55}, {0x1.ed503b23e255dp-1, -0x1.1bcp-54},
    {0x1.ed99e1330b358p-1, 0x1.0ccp-54}, {0x1.ede6b5579fdbfp-1, 0x1.46ap-55}, {0x1.ee36bbfd3f37ap-1, -0x1.2ep-55},
    {0x1.ee89f995ad3adp-1, 0x1.c1ap-55}, {0x1.eee07298db666p-1, -0x1.07cp-54}, {0x1.ef3a2b84f15fbp-1, -0x1.5c4p-58},
    {0x1.ef9728de5593ap-1, -0x1.0a4p-54}, {0x1.eff76f2fb5e47p-1, -0x1.8d6p-57}, {0x1.f05b030a1064ap-1, -0x1.1eep-54},
    {0x1.f0c1e904bc1d2p-1, 0x1.5p-56}, {0x1.f12c25bd71e09p-1, -0x1.1bep-54}, {0x1.f199bdd85529cp-1, 0x1.36ep-56},
    {0x1.f20ab5fffd07ap-1, 0x1.ee4p-55}, {0x1.f27f12e57d14bp-1, 0x1.4ep-55}, {0x1.f2f6d9406e7b5p-1, 0x1.3cep-57},
    {0x1.f3720dcef9069p-1, 0x1.76cp-57}, {0x1.f3f0b555dc3fap-1, -0x1.08ap-55}, {0x1.f472d4a07897cp-1, -0x1.faep-55},
    {0x1.f4f87080d89f2p-1, -0x1.00ep-54}, {0x1.f5818dcfba487p-1, 0x1.4a4p-56}, {0x1.f60e316c98398p-1, -0x1.292p-55},
    {0x1.f69e603db3285p-1, 0x1.e5ap-55}, {0x1.f7321f301b46p-1, 0x1.43ap-55}, {0x1.f7c97337b9b5fp-1, -0x1.2d6p-55},
    {0x1.f864614f5a129p-1, -0x1.92ap-55}, {0x1.f902ee78b3ff6p-1, 0x1.4b6p-56}, {0x1.f9a51fbc74c83p-1, 0x1.3c6p-55},
    {0x1.fa4afa2a490dap-1, -0x1.ff8p-55}, {0x1.faf482d8e67f1p-1, -0x1.daep-55}, {0x1.fba1bee615a27p-1, 0x1.ec4p-55},
    {0x1.fc52b376bba97p-1, 0x1.42cp-55}, {0x1.fd0765b6e454p-1, 0x1.a64p-55}, {0x1.fdbfdad9cbe14p-1, -0x1.e38p-55},
    {0x1.fe7c1819e90d8p-1, 0x1.78ap-56}, {0x1.ff3c22b8f71f1p-1, 0x1.306p-58},
};

/* Numbers and the tanh of them: 0; one for each sixteenth of the numbers between powers of 2 from 2^-4, up to 19; one for all above.
 * Of the 2^12 numbers around the tanh of the middle the one is taken that is nearest to the tanh of a double: they differ by
 * less than 2^-5 of the last place. */
static const double TANH_TABLE[133][2] = {
    {0, 0}, {0x1.07ffffffffc3ap-4, 0x1.07a291be665aap-4}, {0x1.17ffffffffa4cp-4, 0x1.17908dfe6a50bp-4},
    {0x1.280000000023p-4, 0x1.277c5db990a36p-4}, {0x1.380000000078p-4, 0x1.3765e190d6271p-4},
    {0x1.4800000000807p-4, 0x1.474cfa377293dp-4}, {0x1.57ffffffffbfdp-4, 0x1.57318873cbb37p-4},
    {0x1.680000000076dp-4, 0x1.67136d206b58ep-4}, {0x1.780000000078p-4, 0x1.76f2892ce9d6ep-4},
    {0x1.87ffffffffd78p-4, 0x1.86cebd9ee4d7fp-4}, {0x1.980000000077bp-4, 0x1.96a7eb92edadbp-4},
    {0x1.a8000000001bbp-4, 0x1.a67df43d70b5ep-4}, {0x1.b800000000171p-4, 0x1.b650b8eba8ad9p-4},
    {0x1.c7ffffffff843p-4, 0x1.c6201b04830efp-4}, {0x1.d7ffffffffe6ap-4, 0x1.d5ebfc098d13dp-4},
    {0x1.e80000000042ep-4, 0x1.e5b43d97d58fdp-4}, {0x1.f7ffffffff929p-4, 0x1.f578c168d4497p-4},
    {0x1.07ffffffffe67p-3, 0x1.068c20b6ba11bp-3}, {0x1.180000000079p-3, 0x1.1644b3188ca48p-3},
    {0x1.27ffffffffe1p-3, 0x1.25f4bc840279fp-3}, {0x1.37fffffffff3fp-3, 0x1.359bc6d38dc71p-3},
    {0x1.480000000082fp-3, 0x1.45395cf893bcp-3}, {0x1.58000000000d6p-3, 0x1.54cd0b089540ap-3},
    {0x1.6800000000798p-3, 0x1.64565e4a11a0dp-3}, {0x1.77ffffffffaep-3, 0x1.73d4e541109ap-3},
    {0x1.880000000084ap-3, 0x1.83482fbb6cbabp-3}, {0x1.980000000066cp-3, 0x1.92afcedcb8d9ep-3},
    {0x1.a7ffffffff7b1p-3, 0x1.a20b5529e2e3ap-3}, {0x1.b7ffffffff7dfp-3, 0x1.b15a5694769cfp-3},
    {0x1.c8000000002e8p-3, 0x1.c09c688584f38p-3}, {0x1.d7fffffffff41p-3, 0x1.cfd121e83427bp-3},
    {0x1.e8000000001b7p-3, 0x1.def81b33f6391p-3}, {0x1.f7ffffffff9ffp-3, 0x1.ee10ee765771fp-3},
    {0x1.08000000007dep-2, 0x1.024d64837210ap-2}, {0x1.17ffffffffa77p-2, 0x1.1139667b9342p-2},
    {0x1.28000000007d1p-2, 0x1.2005b0e975ef3p-2}, {0x1.38000000002bcp-2, 0x1.2eb0d504177dbp-2},
    {0x1.47ffffffff9cfp-2, 0x1.3d39729c77e84p-2}, {0x1.57ffffffffca1p-2, 0x1.4b9e3881ffcc3p-2},
    {0x1.6800000000428p-2, 0x1.59dde4d9de542p-2}, {0x1.7800000000604p-2, 0x1.67f745695f25ap-2},
    {0x1.87ffffffff6cap-2, 0x1.75e937d34633cp-2}, {0x1.9800000000798p-2, 0x1.83b2a9c857a67p-2},
    {0x1.a7ffffffff9b9p-2, 0x1.9152992b2dfccp-2}, {0x1.b7ffffffffc02p-2, 0x1.9ec81427c1248p-2},
    {0x1.c7ffffffffb86p-2, 0x1.ac12393ec2c9cp-2}, {0x1.d8000000005fap-2, 0x1.b93037454f7aap-2},
    {0x1.e800000000243p-2, 0x1.c6214d5944719p-2}, {0x1.f7fffffffff5p-2, 0x1.d2e4cacabc922p-2},
    {0x1.0800000000511p-1, 0x1.e5b32dc3c2529p-2}, {0x1.17ffffffffbfcp-1, 0x1.fe216fd16f508p-2},
    {0x1.27ffffffff7a3p-1, 0x1.0ae80133b7f2ap-1}, {0x1.38000000002c1p-1, 0x1.165e245365924p-1},
    {0x1.47ffffffffb66p-1, 0x1.217245dba2c77p-1}, {0x1.58000000005cep-1, 0x1.2c23f76a65574p-1},
    {0x1.67ffffffff501p-1, 0x1.367331116d30dp-1}, {0x1.7800000000b88p-1, 0x1.40604a486671dp-1},
    {0x1.87ffffffffa15p-1, 0x1.49ebf28adf7aap-1}, {0x1.97ffffffffeadp-1, 0x1.531729c36591ap-1},
    {0x1.a800000000d56p-1, 0x1.5be338a1f8dc2p-1}, {0x1.b800000000383p-1, 0x1.6451a8f92e63bp-1},
    {0x1.c7ffffffffe19p-1, 0x1.6c643e39dfa74p-1}, {0x1.d8000000008c6p-1, 0x1.741cee21e9e9p-1},
    {0x1.e7ffffffffee2p-1, 0x1.7b7dd9af34087p-1}, {0x1.f7fffffffef2cp-1, 0x1.82894664eecdcp-1},
    {0x1.08000000007cfp+0, 0x1.8c7f5c6b815aap-1}, {0x1.17ffffffff6ecp+0, 0x1.98b3463a08afcp-1},
    {0x1.27ffffffff4f1p+0, 0x1.a3bea98556455p-1}, {0x1.3800000000877p+0, 0x1.adb6c58dada81p-1},
    {0x1.4800000000e67p+0, 0x1.b6b0cbeed19d3p-1}, {0x1.57ffffffff6e5p+0, 0x1.bec17f1db0dc6p-1},
    {0x1.67ffffffff03ep+0, 0x1.c5fce8184043cp-1}, {0x1.77fffffffeb6ap+0, 0x1.cc76206c06848p-1},
    {0x1.87ffffffff524p+0, 0x1.d23f2d8db00c7p-1}, {0x1.97ffffffff2aep+0, 0x1.d768ea89a3833p-1},
    {0x1.a800000000b8ep+0, 0x1.dc02fd4857e6bp-1}, {0x1.b80000000044p+0, 0x1.e01bd4e9862aep-1},
    {0x1.c800000001298p+0, 0x1.e3c0af0bf0e58p-1}, {0x1.d800000000d14p+0, 0x1.e6fda22bcd4f9p-1},
    {0x1.e800000000948p+0, 0x1.e9ddab92c4fbdp-1}, {0x1.f800000000ca5p+0, 0x1.ec6abf9e59a5ap-1},
    {0x1.080000000138dp+1, 0x1.efb63c1f33e7ep-1}, {0x1.1800000001d4bp+1, 0x1.f3451e089a3e2p-1},
    {0x1.27fffffffda1fp+1, 0x1.f60efb2c12275p-1}, {0x1.37fffffffdb94p+1, 0x1.f83dabf23dd15p-1},
    {0x1.47fffffffadd8p+1, 0x1.f9f272e24f6b3p-1}, {0x1.57fffffffaa3fp+1, 0x1.fb47a0d8f66d8p-1},
    {0x1.67fffffffa01dp+1, 0x1.fc51f569c025dp-1}, {0x1.77fffffff5acbp+1, 0x1.fd21c0f91bef6p-1},
    {0x1.87fffffffc13bp+1, 0x1.fdc3d06100afp-1}, {0x1.980000000e8bap+1, 0x1.fe422a73746dp-1},
    {0x1.a80000000610bp+1, 0x1.fea4a74034f83p-1}, {0x1.b800000012378p+1, 0x1.fef16825d272ap-1},
    {0x1.c7ffffffde6adp+1, 0x1.ff2d36b4cfbf1p-1}, {0x1.d7fffffff9e19p+1, 0x1.ff5bcf6d19149p-1},
    {0x1.e7ffffffc10a5p+1, 0x1.ff801c7672bd3p-1}, {0x1.f800000043bdp+1, 0x1.ff9c63abbf08ap-1},
    {0x1.0800000026c6p+2, 0x1.ffbb87d07cb0ep-1}, {0x1.1800000019d6dp+2, 0x1.ffd677867b798p-1},
    {0x1.27fffffff45b2p+2, 0x1.ffe6cead12c4ap-1}, {0x1.38000000f36fdp+2, 0x1.fff0b823aee2ap-1},
    {0x1.480000012540dp+2, 0x1.fff6bb483d1c8p-1}, {0x1.57fffffee11d5p+2, 0x1.fffa60da97384p-1},
    {0x1.67ffffff06c9p+2, 0x1.fffc971b3beccp-1}, {0x1.780000042d28p+2, 0x1.fffdee8f807a3p-1},
    {0x1.8800000b734cep+2, 0x1.fffebee0b44cep-1}, {0x1.97fffff2f948ep+2, 0x1.ffff3d3aa896fp-1},
    {0x1.a7fffff88b586p+2, 0x1.ffff89dd88909p-1}, {0x1.b80000081d2eap+2, 0x1.ffffb85901304p-1},
    {0x1.c7fffff87a26dp+2, 0x1.ffffd48a67eadp-1}, {0x1.d7ffffd0a07a9p+2, 0x1.ffffe5a3fbdebp-1},
    {0x1.e80000124cc6cp+2, 0x1.fffff0031f066p-1}, {0x1.f800004411d9fp+2, 0x1.fffff64d8b23bp-1},
    {0x1.0800001fa5aep+3, 0x1.fffffb6b5ed84p-1}, {0x1.17fffc8ed339bp+3, 0x1.fffffe509cbacp-1},
    {0x1.27fff63eb5512p+3, 0x1.ffffff614ce3ap-1}, {0x1.37fff70d08f8fp+3, 0x1.ffffffc59e21fp-1},
    {0x1.4800222be60dep+3, 0x1.ffffffea85f2ep-1}, {0x1.57ffc0ed1f5b9p+3, 0x1.fffffff819314p-1},
    {0x1.67ff947065afep+3, 0x1.fffffffd17d1bp-1}, {0x1.77fc331e90669p+3, 0x1.fffffffeee015p-1},
    {0x1.880c642a3d404p+3, 0x1.ffffffff9b99cp-1}, {0x1.980a5e545f06bp+3, 0x1.ffffffffdb0cp-1},
    {0x1.a80d543bc8a67p+3, 0x1.fffffffff26a6p-1}, {0x1.b804a4b51aafbp+3, 0x1.fffffffffafdfp-1},
    {0x1.c80e98260b4a3p+3, 0x1.fffffffffe298p-1}, {0x1.d80db3a526233p+3, 0x1.ffffffffff52ep-1},
    {0x1.e7f9c1e980f99p+3, 0x1.ffffffffffcp-1}, {0x1.f7f696f66507p+3, 0x1.ffffffffffe87p-1},
    {0x1.07fe385e45427p+4, 0x1.fffffffffffacp-1}, {0x1.1841a4bab2d6dp+4, 0x1.ffffffffffff5p-1},
    {0x1.25e4f7b2737fap+4, 0x1.ffffffffffffep-1}, {0x1.3p+4, 1},
};

/* Tangents and their angles in the same way: 0; one for each eighth of the numbers between powers of 2 from 2^-5 to 2^5; one for
 * all above. They differ by less than 2^-8 of the last place. */
static const double ATAN_TABLE[82][2] = {
    {0, 0}, {0x1.100000000069dp-5, 0x1.0fe66da9b9b89p-5}, {0x1.30000000004e3p-5, 0x1.2fdc4e37382bep-5},
    {0x1.5000000000328p-5, 0x1.4fcfd072e02ap-5}, {0x1.6fffffffffe2p-5, 0x1.6fc0b4f27d3dcp-5},
    {0x1.9000000000255p-5, 0x1.8faebc6b17d0ep-5}, {0x1.b0000000007ap-5, 0x1.af99a7b3ddbcap-5},
    {0x1.cffffffffff5ap-5, 0x1.cf8137c90a0d2p-5}, {0x1.f00000000031fp-5, 0x1.ef652dceca7f8p-5},
    {0x1.0fffffffffff8p-4, 0x1.0f99ea71d529fp-4}, {0x1.2fffffffffb04p-4, 0x1.2f719318a45a5p-4},
    {0x1.500000000042ap-4, 0x1.4f3fd6772971ep-4}, {0x1.6fffffffff8a5p-4, 0x1.6f03bdcea43c1p-4},
    {0x1.8fffffffffab3p-4, 0x1.8ebc54478f5e8p-4}, {0x1.afffffffffc2cp-4, 0x1.ae68a71c71eefp-4},
    {0x1.d0000000006d3p-4, 0x1.ce07c5c3cd0efp-4}, {0x1.efffffffffcbfp-4, 0x1.ed98c21900106p-4},
    {0x1.0fffffffffbd7p-3, 0x1.0e6adccf4046bp-3}, {0x1.3000000000802p-3, 0x1.2dcbdb2fba9d5p-3},
    {0x1.5000000000057p-3, 0x1.4d087a9da4f6cp-3}, {0x1.70000000005fap-3, 0x1.6c1d4898939a3p-3},
    {0x1.8fffffffff92bp-3, 0x1.8b06ee2879594p-3}, {0x1.b0000000000c2p-3, 0x1.a9c231b403333p-3},
    {0x1.cfffffffff92fp-3, 0x1.c84bf8a7427f2p-3}, {0x1.efffffffffec2p-3, 0x1.e6a148e96eb21p-3},
    {0x1.100000000087fp-2, 0x1.09dc597d86b52p-2}, {0x1.2fffffffff93p-2, 0x1.278372057e903p-2},
    {0x1.50000000003f7p-2, 0x1.44aa436c2b29ep-2}, {0x1.70000000007ep-2, 0x1.614840309d6dbp-2},
    {0x1.8fffffffff7a9p-2, 0x1.7d5604b63acbbp-2}, {0x1.afffffffffdafp-2, 0x1.98cd5454d6921p-2},
    {0x1.cfffffffffcbbp-2, 0x1.b3a911da659b6p-2}, {0x1.f00000000039cp-2, 0x1.cde53432c163dp-2},
    {0x1.0fffffffffe72p-1, 0x1.f40dd0b5411abp-2}, {0x1.3000000000928p-1, 0x1.1255d9bfbd96ep-1},
    {0x1.4fffffffffd99p-1, 0x1.2958e59308c83p-1}, {0x1.7000000000021p-1, 0x1.3f13fb89e970ap-1},
    {0x1.9000000000b85p-1, 0x1.538f57b890d46p-1}, {0x1.afffffffff461p-1, 0x1.66d663923d9bdp-1},
    {0x1.d00000000000ep-1, 0x1.78f6bbd5d3166p-1}, {0x1.effffffffffd6p-1, 0x1.89ff5ff57f1e2p-1},
    {0x1.0fffffffff7eep+0, 0x1.a1a25f2c81d71p-1}, {0x1.2ffffffffff08p+0, 0x1.bde70ed439f19p-1},
    {0x1.4fffffffff5d7p+0, 0x1.d6e57cf4f0353p-1}, {0x1.6ffffffffff73p+0, 0x1.ed0d97c90416dp-1},
    {0x1.9000000001af6p+0, 0x1.006132e34ddedp+0}, {0x1.b0000000000eep+0, 0x1.092ce4718540ap+0},
    {0x1.d00000000002cp+0, 0x1.110eb007f3a01p+0}, {0x1.f0000000001d2p+0, 0x1.1825f0740313bp+0},
    {0x1.0ffffffffea1ep+1, 0x1.21862f3fad647p+0}, {0x1.2ffffffffe5d9p+1, 0x1.2c1a241d665e3p+0},
    {0x1.500000000005ap+1, 0x1.34f1fbb19eb2p+0}, {0x1.6ffffffffdbd6p+1, 0x1.3c6e650b37879p+0},
    {0x1.8ffffffffffc4p+1, 0x1.42d70411f9eb6p+0}, {0x1.b000000000155p+1, 0x1.4861b4cfbe747p+0},
    {0x1.cffffffffff1p+1, 0x1.4d378c19999ebp+0}, {0x1.f000000003ef2p+1, 0x1.51784fa154c96p+0},
    {0x1.0ffffffffda66p+2, 0x1.56f6f33a3dec3p+0}, {0x1.3000000000038p+2, 0x1.5d013c41adac7p+0},
    {0x1.4fffffffffffap+2, 0x1.61f06c6a92b88p+0}, {0x1.6ffffffffff2cp+2, 0x1.660b02c7369edp+0},
    {0x1.8ffffffffff3cp+2, 0x1.698213a9d503fp+0}, {0x1.b00000000014dp+2, 0x1.6c78c7edeb1b2p+0},
    {0x1.cffffffff9533p+2, 0x1.6f08f074357f2p+0}, {0x1.effffffffffacp+2, 0x1.7145eac20889ep+0},
    {0x1.0ffffffffb743p+3, 0x1.7424de9044ce2p+0}, {0x1.2ffffffffa4c5p+3, 0x1.77467e364ee01p+0},
    {0x1.4ffffffffff57p+3, 0x1.79d0f3fad1c86p+0}, {0x1.70000000084cep+3, 0x1.7beb396c57193p+0},
    {0x1.8ffffffff63f5p+3, 0x1.7daff85a62868p+0}, {0x1.affffffffff47p+3, 0x1.7f320a0f9f57fp+0},
    {0x1.d000000000048p+3, 0x1.807f2112987cap+0}, {0x1.f00000000ef8ap+3, 0x1.81a16e43f20fcp+0},
    {0x1.100000000003dp+4, 0x1.831516233f564p+0}, {0x1.2ffffffff4b26p+4, 0x1.84a99fe25106dp+0},
    {0x1.500000000dcc8p+4, 0x1.85f14d43d89bcp+0}, {0x1.6ffffffffffedp+4, 0x1.87001c35928d3p+0},
    {0x1.8fffffffec75ep+4, 0x1.87e3aa32870bp+0}, {0x1.afffffffe9348p+4, 0x1.88a58ec949516p+0},
    {0x1.d000000000035p+4, 0x1.894cbdb6bedfdp+0}, {0x1.f00000001e068p+4, 0x1.89de605ace3bp+0},
    {0x1.d02967c31cdb5p+53, 0x1.921fb54442d18p+0},
};

/* For each multiple c of 1 / TANH_STEPS, tanh(c + d) by powers of d, |d| up to h, which is half of that: Taylor's, but for the
 * fourth power, which is h^2 d^2 - h^4 / 8 as nearly as can be. The rows behind are for what is no number. */
#define TANH_STEPS 32
static float TANH_ROWS[512][4];
static __attribute__((constructor)) void make_tanh_rows(void) {
    for (int i = 0; i <= 10 * TANH_STEPS; i++) {
        double t = tanh((double)i / TANH_STEPS), slope = 1 - t * t, fourth = t * slope * (2 - 3 * t * t) / 3, h2 = 0.25 / TANH_STEPS / TANH_STEPS;
        TANH_ROWS[i][0] = t - fourth * h2 * h2 / 8;
        TANH_ROWS[i][1] = slope;
        TANH_ROWS[i][2] = fourth * h2 - t * slope;
        TANH_ROWS[i][3] = slope * (3 * t * t - 1) / 3;
    }
}

/* For each 32nd of the numbers from 1 to 2, 2 to 4 and 4 to 8, a root of 17 bits near that of the middle, after the inverse of its
 * cube, which has 51. */
static double CBRT_TABLE[96][2];
static __attribute__((constructor)) void make_cbrt_table(void) {
    for (int i = 0; i < 96; i++) {
        double root = rint(cbrt((1 << i / 32) * (1 + (i % 32 + 0.5) / 32)) * 0x1p16) / 0x1p16;
        CBRT_TABLE[i][0] = 1 / (root * root * root);
        CBRT_TABLE[i][1] = root;
    }
}

/* Two vectors of the machine at once: what they wait for, and the constants that are loaded for them, are shared. */
typedef uint64_t two_vectors __attribute__((vector_size(32)));
typedef uint64_t one_vector __attribute__((vector_size(16)));
#define LOWER(x) ((v128_t)__builtin_shufflevector((two_vectors)(x), (two_vectors)(x), 0, 1))
#define UPPER(x) ((v128_t)__builtin_shufflevector((two_vectors)(x), (two_vectors)(x), 2, 3))
#define BOTH(lower, upper) __builtin_shufflevector((one_vector)(lower), (one_vector)(upper), 0, 1, 2, 3)

/* The compiler does not see what is in it: of absolute values and comparisons of integers it makes what takes the machine three
 * instructions each. */
INLINE v128_t hidden(v128_t x) {
    __asm__("" : "+r"(x));
    return x;
}

#define PI 3.14159265358979323846
#define ROOT_OF_2 1.41421356237309504880
#define ROOT_OF_HALF 0.70710678118654752440

/* ---------------------------------------------------------------- for both types */

/* A constant and its _REST, what is left of it in the type, and so on. */
#define real double
#define LANES 4
#define HAS_TABLES
#define word uint64_t
#define FRACTION 52
#define BIAS 1023
#define NAME(function) function##_double
#define LIBC(function) function
#define MADD wasm_f64x2_relaxed_madd
#define NMADD wasm_f64x2_relaxed_nmadd
#define SQRT wasm_f64x2_sqrt
#define PMIN wasm_f64x2_pmin
#define COMPARISON(order) wasm_f64x2_##order
#define SHIFT 0x1.8p52 /* Added to a number, it leaves the nearest integer in the lowest bits. */
#define LOG2 0x1.62e42fefa39efp-1
#define LOG2_REST 0x1.abc9e3b39803fp-56
#define LOG2_SHORT 0x1.62e42fefa38p-1 /* A multiple of 2^-43. */
#define LOG2_SHORT_REST 0x1.ef35793c7673p-45
#define INVERSE_LOG2 0x1.71547652b82fep+0
#define INVERSE_LOG2_REST 0x1.777d0ffda0d24p-56
#define INVERSE_LOG10 0x1.bcb7b1526e50ep-2
#define INVERSE_LOG10_REST 0x1.95355baaafad3p-57
#define LOG10_OF_2 0x1.34413509f4000p-2
#define LOG10_OF_2_REST 0x1.cff7988f8959bp-41
#define HALF_PI 0x1.921fb54442d18p+0
#define HALF_PI_REST 0x1.1a62633145c07p-54
#define HALF_PI_LEAST -0x1.f1976b7ed8fbcp-110
#define MIN_NORMAL 0x1p-1022
#define LARGEST 0x1.fffffffffffffp1023
#define MAX_EXPONENT 708
#define MAX_SQUARED 0x1p500
#define MIN_SQUARED 0x1p-400
#define MAX_ANGLE 0x1p30
#define TANH_IS_ONE 19
#define ABOUT_HALF 0x7fce623822fc16e6
#include "functions_of_type.h"
#define real float
#define LANES 8
#define word uint32_t
#define FRACTION 23
#define BIAS 127
#define NAME(function) function##_float
#define LIBC(function) function##f
#define MADD wasm_f32x4_relaxed_madd
#define NMADD wasm_f32x4_relaxed_nmadd
#define SQRT wasm_f32x4_sqrt
#define PMIN wasm_f32x4_pmin
#define COMPARISON(order) wasm_f32x4_##order
#define SHIFT 0x1.8p23f
#define LOG2 0x1.62e43p-1f
#define LOG2_REST -0x1.05c61p-29f
#define INVERSE_LOG2 0x1.715476p+0f
#define INVERSE_LOG2_REST 0x1.4ae0cp-26f
#define INVERSE_LOG10 0x1.bcb7b2p-2f
#define INVERSE_LOG10_REST -0x1.5b235ep-27f
#define LOG10_OF_2 0x1.344p-2f
#define LOG10_OF_2_REST 0x1.3509f8p-18f
#define HALF_PI 0x1.921fb6p+0f
#define HALF_PI_REST -0x1.777a5cp-25f
#define HALF_PI_LEAST -0x1.ee59dap-50f
#define MIN_NORMAL 0x1p-126f
#define LARGEST 0x1.fffffep127f
#define MAX_EXPONENT 87
#define MAX_SQUARED 0x1p60f
#define MIN_SQUARED 0x1p-50f
#define MAX_ANGLE 0x1p15f
#define TANH_IS_ONE 10
#define ABOUT_HALF 0x7e7311c7
#include "functions_of_type.h"

/* ---------------------------------------------------------------- of complex numbers */

int absolute_complex(char **args, intptr_t n, const intptr_t *steps) {
    char *in = args[0], *out = args[1];
    int at_once = steps[0] == 16 && steps[1] == 8 && (in + n * 16 <= out || out + n * 8 <= in) ? 2 : 1;
    for (; n > 0; n -= at_once, in += at_once * steps[0], out += at_once * steps[1]) {
        int two = at_once == 2 && n > 1;
        v128_t a = AT(in, 0), b = two ? AT(in, 1) : wasm_f64x2_splat(1);
        v128_t real = wasm_f64x2_abs(wasm_i64x2_shuffle(a, b, 0, 2)), imaginary = wasm_f64x2_abs(wasm_i64x2_shuffle(a, b, 1, 3));
        v128_t larger = wasm_f64x2_pmax(real, imaginary), smaller = wasm_f64x2_pmin(real, imaginary);
        /* Squares that neither overflow nor lose what counts. */
        v128_t whole = wasm_v128_and(wasm_f64x2_lt(larger, wasm_f64x2_splat(0x1p500)), wasm_f64x2_gt(larger, wasm_f64x2_splat(0x1p-400)));
        whole = wasm_v128_and(whole, wasm_v128_and(wasm_f64x2_eq(real, real), wasm_f64x2_eq(imaginary, imaginary)));
        v128_t all = wasm_f64x2_sqrt(wasm_f64x2_add(wasm_f64x2_mul(larger, larger), wasm_f64x2_mul(smaller, smaller)));
        if (!wasm_i64x2_all_true(whole)) {
            if (!wasm_i64x2_extract_lane(whole, 0)) all = wasm_f64x2_replace_lane(all, 0, hypot(wasm_f64x2_extract_lane(real, 0), wasm_f64x2_extract_lane(imaginary, 0)));
            if (!wasm_i64x2_extract_lane(whole, 1)) all = wasm_f64x2_replace_lane(all, 1, hypot(wasm_f64x2_extract_lane(real, 1), wasm_f64x2_extract_lane(imaginary, 1)));
        }
        if (two) wasm_v128_store(out, all);
        else wasm_v128_store64_lane(out, all, 0);
    }
    return 1;
}
