#if HTTP
    internal import AsyncHTTPClient
    package import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    package import StoreExchange
    package import StoreFormat
    package import SystemPackage

    /// A public place on a web server, or in a bucket that anybody may read.
    ///
    /// It trusts no answer: a head has a limit, a file has the size that the head says and no more, a slow answer ends, and a
    /// redirection leads to another address of the same server or to an error.
    package struct HTTPSource: PlaceSource {
        private let base: URL
        /// The time for a connection, and for the first byte of an answer.
        private let patience: Duration

        /// Reads a place.
        ///
        /// - Parameters:
        ///   - address: the address of the place, below which its files are.
        ///   - patience: the time for a connection, and for an answer to begin.
        package init(_ address: URL, patience: Duration = .seconds(30)) { (base, self.patience) = (address, patience) }

        private static let configuration: HTTPClient.Configuration = {
            var configuration = HTTPClient.Configuration()
            configuration.redirectConfiguration = .disallow
            configuration.timeout = HTTPClient.Configuration.Timeout(connect: .seconds(15), read: .seconds(30))
            return configuration
        }()

        /// The process's client, which is never closed.
        private static let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)

        /// The number of redirections that are followed.
        private static let redirections = 3
        /// The least number of bytes a second at which a file must come.
        private static let leastSpeed: Int64 = 4096

        package func head(unless tag: String?) async throws -> PlaceAnswer? {
            let url = self.url(of: .newestHead)
            var bytes: [UInt8] = []
            var answered: String?
            let isNews = try await receive(url, unless: tag, limit: Int64(PublishedHead.limit), exactly: nil) { response in
                answered = response.headers.first(name: "ETag")
            } body: { piece in
                bytes += piece
            }
            return isNews ? PlaceAnswer(bytes: bytes, tag: answered) : nil
        }

        package func head(_ number: Int64, _ id: StatementIdentifier) async throws -> [UInt8] {
            var bytes: [UInt8] = []
            _ = try await receive(url(of: .head(number, id)), unless: nil, limit: Int64(PublishedHead.limit), exactly: nil) { _ in
            } body: { piece in
                bytes += piece
            }
            return bytes
        }

        package func fetch(_ path: PublishedPath, _ file: PublishedFile, to draft: FilePath) async throws {
            guard FileManager.default.createFile(atPath: draft.string, contents: nil, attributes: [.posixPermissions: 0o600]),
                let handle = FileHandle(forWritingAtPath: draft.string)
            else { throw Errno.ioError }
            defer { try? handle.close() }
            _ = try await receive(url(of: path), unless: nil, limit: file.size, exactly: file.size) { _ in
            } body: { piece in
                try handle.write(contentsOf: piece)
            }
        }

        private func url(of path: PublishedPath) -> URL { path.components.reduce(base) { $0.appending(path: $1) } }

        /// Receives an answer.
        ///
        /// - Parameters:
        ///   - url: the address.
        ///   - tag: the tag of the answer that the caller has.
        ///   - limit: the greatest number of bytes.
        ///   - size: the number of bytes that it must have; nil for any.
        ///   - began: receives the answer's headers.
        ///   - body: receives the bytes.
        /// - Returns: whether there is an answer; false if it is the one that the caller has.
        /// - Throws: `PlaceSourceError`, `CancellationError`, or what the body throws.
        private func receive(
            _ url: URL, unless tag: String?, limit: Int64, exactly size: Int64?, began: (HTTPClientResponse) -> Void, body: ([UInt8]) throws -> Void
        ) async throws -> Bool {
            let begun = NIODeadline.now()
            func end(_ size: Int64) -> (seconds: Int64, deadline: NIODeadline) {
                let seconds = Int64(patience / .seconds(1)) + size / Self.leastSpeed
                return (seconds, begun + .seconds(seconds))
            }
            do {
                let response = try await answer(url, unless: tag, end(limit).deadline)
                if response.status == .notModified, tag != nil { return false }
                guard response.status == .ok else {
                    // A bucket whose files cannot be listed forbids what is not there.
                    let isMissing = [403, 404, 410].contains(response.status.code)
                    throw PlaceSourceError("\(url) answers \(response.status.code)", isMissing: isMissing)
                }
                if let encoding = response.headers.first(name: "Content-Encoding"), encoding.lowercased() != "identity" {
                    throw PlaceSourceError("\(url) answers with the encoding \(Self.shown(encoding)), which nobody has asked for")
                }
                let length = response.headers.first(name: "Content-Length").flatMap { Int64($0) }
                if let length, length > limit || size.map({ $0 != length }) ?? false {
                    throw PlaceSourceError("\(url) has \(length) bytes, and \(size.map { "\($0)" } ?? "at most \(limit)") are expected")
                }
                began(response)
                let (seconds, deadline) = end(length ?? limit)
                var received: Int64 = 0
                for try await piece in response.body {
                    received += Int64(piece.readableBytes)
                    guard received <= limit else { throw PlaceSourceError("\(url) has more than the \(limit) bytes that are expected") }
                    guard NIODeadline.now() < deadline else {
                        throw PlaceSourceError("\(url) answers too slowly: \(received) bytes in \(seconds) seconds")
                    }
                    try body([UInt8](piece.readableBytesView))
                }
                if let size, received != size { throw PlaceSourceError("\(url) ends after \(received) of \(size) bytes") }
                return true
            } catch let error as PlaceSourceError {
                throw error
            } catch let error as CancellationError {
                throw error
            } catch let error as HTTPClientError where error == .cancelled {
                throw CancellationError()
            } catch let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout || error == .connectTimeout {
                throw PlaceSourceError("\(url) does not answer in time")
            } catch {
                throw PlaceSourceError("\(url) cannot be read: \(error)")
            }
        }

        private func answer(_ url: URL, unless tag: String?, _ deadline: NIODeadline) async throws -> HTTPClientResponse {
            var url = url
            for _ in 0...Self.redirections {
                var request = HTTPClientRequest(url: url.absoluteString)
                request.headers.add(name: "User-Agent", value: "ubiquity")
                if let tag { request.headers.add(name: "If-None-Match", value: tag) }
                let response = try await Self.client.execute(request, deadline: deadline)
                guard [301, 302, 303, 307, 308].contains(response.status.code) else { return response }
                guard let location = response.headers.first(name: "Location"), let next = URL(string: location, relativeTo: url)?.absoluteURL else {
                    throw PlaceSourceError("\(url) redirects to no address")
                }
                guard next.scheme == url.scheme, next.host() == url.host(), next.port == url.port else {
                    throw PlaceSourceError(
                        "\(url) redirects to another server, \(Self.shown(next.absoluteString)); use the address of that one if you trust it")
                }
                url = next
            }
            throw PlaceSourceError("\(url) redirects again and again")
        }

        /// Returns a server's text with nothing that a terminal obeys.
        private static func shown(_ text: String) -> String {
            String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value >= 32 && $0.value < 127 }.prefix(200)))
        }
    }
#endif
