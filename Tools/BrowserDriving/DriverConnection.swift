internal import Foundation

/// The requests to chromedriver.
struct DriverConnection: Sendable {
    let port: UInt16

    private struct Answer<Value: Decodable>: Decodable { var value: Value }
    private struct Failure: Decodable { var error: String, message: String }
    /// A value of any kind that nobody reads.
    struct Ignored: Decodable, Sendable { init(from decoder: any Decoder) {} }

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - request: the method and the path.
    ///   - body: the parameters; nil for none.
    /// - Returns: the value of the answer.
    /// - Throws: ``BrowserError`` if the driver refuses; `DecodingError`; `POSIXError`; `Overdue`.
    func send<Value: Decodable & Sendable>(_ request: String, _ body: JSON? = nil) async throws -> Value {
        let text = try body.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) } ?? ""
        let answer = try await HTTPExchange.send(request, port: port, fields: ["Content-Type": "application/json"], body: text)
        guard answer.status == 200 else {
            let failure = try JSONDecoder().decode(Answer<Failure>.self, from: Data(answer.body.utf8)).value
            throw BrowserError(command: request, code: failure.error, message: failure.message)
        }
        return try JSONDecoder().decode(Answer<Value>.self, from: Data(answer.body.utf8)).value
    }
}
