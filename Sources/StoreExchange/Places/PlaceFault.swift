/// Why a public place is not read further, in words.
struct PlaceFault: Error {
    var reason: String
}
