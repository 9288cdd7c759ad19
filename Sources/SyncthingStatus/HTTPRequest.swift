/// One request over HTTP.
struct HTTPRequest: Sendable {
    var method = "GET"
    /// The address, percent-encoded.
    var url: String
    var headers: [String: String] = [:]
    /// The body; nil for none.
    var body: [UInt8]?
}
