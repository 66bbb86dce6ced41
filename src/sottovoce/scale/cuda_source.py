"""The source of what `cuda` runs on a GPU; what each kernel does stands in its docstring."""

SOURCE = r"""
extern "C" {

#define TILE 1024  // reports in shared memory
#define VALUES 16  // of one thread: _VALUES

__global__ void hash_support(const unsigned *a, const unsigned *b, const unsigned *codes,
                             const unsigned mask, const unsigned width, const long long reports,
                             const int chunk, const int values, unsigned long long *counts)
{
    __shared__ uint2 tile[TILE];
    const int first = blockIdx.x * blockDim.x * VALUES + threadIdx.x;
    unsigned c[VALUES], n[VALUES];
    #pragma unroll
    for (int k = 0; k < VALUES; k++) {
        const int v = first + k * blockDim.x;
        c[k] = v < values ? codes[v] : 0;
        n[k] = 0;
    }
    const long long begin = (long long)blockIdx.y * chunk;
    const long long end = begin + chunk < reports ? begin + chunk : reports;
    for (long long start = begin; start < end; start += TILE) {
        const int many = end - start < TILE ? end - start : TILE;
        __syncthreads();
        for (int i = threadIdx.x; i < many; i += blockDim.x)
            tile[i] = make_uint2(a[start + i], b[start + i]);
        __syncthreads();
        if (mask == 0xFFFFFFFFu) {
            #pragma unroll 4
            for (int i = 0; i < many; i++) {
                const uint2 r = tile[i];
                #pragma unroll
                for (int k = 0; k < VALUES; k++) n[k] += (r.x * c[k] + r.y) < width;
            }
        } else {
            #pragma unroll 4
            for (int i = 0; i < many; i++) {
                const uint2 r = tile[i];
                #pragma unroll
                for (int k = 0; k < VALUES; k++) n[k] += ((r.x * c[k] + r.y) & mask) < width;
            }
        }
    }
    #pragma unroll
    for (int k = 0; k < VALUES; k++) {
        const int v = first + k * blockDim.x;
        if (v < values && n[k]) atomicAdd(counts + v, (unsigned long long)n[k]);
    }
}

__global__ void column_counts(const unsigned *rows, const long long many, const int words,
                              const int chunk, unsigned long long *counts)
{
    const int word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= words) return;
    const long long begin = ((long long)blockIdx.y * blockDim.y + threadIdx.y) * chunk;
    const long long end = begin + chunk < many ? begin + chunk : many;
    unsigned total[32];
    #pragma unroll
    for (int j = 0; j < 32; j++) total[j] = 0;
    for (long long start = begin; start < end; start += 255) {
        const long long stop = start + 255 < end ? start + 255 : end;
        unsigned sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (long long i = start; i < stop; i++) {
            const unsigned w = rows[i * words + word];
            #pragma unroll
            for (int j = 0; j < 8; j++) sums[j] += (w >> j) & 0x01010101u;
        }
        #pragma unroll
        for (int j = 0; j < 8; j++)
            #pragma unroll
            for (int byte = 0; byte < 4; byte++)
                total[8 * byte + j] += (sums[j] >> (8 * byte)) & 0xFFu;
    }
    #pragma unroll
    for (int j = 0; j < 32; j++)
        if (total[j]) atomicAdd(counts + 32 * word + j, (unsigned long long)total[j]);
}

__global__ void butterfly(long long *table, const long long pairs, const int half)
{
    const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= pairs) return;
    const long long low = (t / half) * 2 * half + t % half;
    const long long x = table[low], y = table[low + half];
    table[low] = x + y;
    table[low + half] = x - y;
}

__device__ double likelihood(const double *laws, const int law, const int leaf, const int u)
{
    return laws[((long long)law * 2 + (u & 1)) * leaf + (u >> 1)];  // the last axis comes first
}

__global__ void cell_densities(const unsigned long long *bits, const int *law, const double *laws,
                               const int *digits, const double *p, const double *counts,
                               const long long patterns, const int axes, const int cells,
                               const int many, const int leaf, double *densities, double *weights)
{
    extern __shared__ double shared[];
    int *place = (int *)(shared + cells);
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long own[4];
    double likely[16];
    if (i < patterns) {
        for (int a = 0; a < axes; a++) own[a] = bits[i * axes + a];
        for (int u = 0; u < 1 << axes; u++) likely[u] = likelihood(laws, law[i], leaf, u);
    }
    for (int c = threadIdx.x; c < cells * axes; c += blockDim.x) place[c] = digits[c];
    for (int f = 0; f < many; f++) {
        __syncthreads();
        for (int c = threadIdx.x; c < cells; c += blockDim.x)
            shared[c] = p[(long long)f * cells + c];
        __syncthreads();
        if (i >= patterns) continue;
        double density = 0;
        for (int c = 0; c < cells; c++) {
            int u = 0;
            for (int a = 0; a < axes; a++) u = 2 * u + (int)((own[a] >> place[c * axes + a]) & 1);
            density += likely[u] * shared[c];
        }
        density = fmax(density, 1e-300);
        densities[f * patterns + i] = density;
        weights[f * patterns + i] = counts[f * patterns + i] / density;
    }
}

__global__ void cell_sums(const unsigned long long *bits, const int *law, const double *laws,
                          const int *digits, const double *weights, const long long patterns,
                          const int axes, const int cells, const int many, const int leaf,
                          const int f, double *back)
{
    extern __shared__ double sums[];
    int *place = (int *)(sums + cells);
    for (int c = threadIdx.x; c < cells; c += blockDim.x) sums[c] = 0;
    for (int c = threadIdx.x; c < cells * axes; c += blockDim.x) place[c] = digits[c];
    __syncthreads();
    const long long stride = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long rounds = (patterns + stride - 1) / stride;
    for (long long r = 0; r < rounds; r++) {
        const long long i = first + r * stride;
        unsigned long long own[4] = {0, 0, 0, 0};
        double owed[16];
        for (int u = 0; u < 16; u++) owed[u] = 0;
        if (i < patterns) {
            const double weight = weights[f * patterns + i];
            for (int a = 0; a < axes; a++) own[a] = bits[i * axes + a];
            for (int u = 0; u < 1 << axes; u++)
                owed[u] = likelihood(laws, law[i], leaf, u) * weight;
        }
        for (int c = 0; c < cells; c++) {
            int u = 0;
            for (int a = 0; a < axes; a++) u = 2 * u + (int)((own[a] >> place[c * axes + a]) & 1);
            double sum = owed[u];
            for (int offset = 16; offset; offset >>= 1)
                sum += __shfl_down_sync(0xFFFFFFFFu, sum, offset);
            if ((threadIdx.x & 31) == 0) atomicAdd(sums + c, sum);
        }
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cells; c += blockDim.x)
        atomicAdd(back + (long long)f * cells + c, sums[c]);
}

}
"""
