internal import Foundation
internal import Glibc
public import SystemPackage
internal import Waiting

/// An nginx that serves a directory on a port of this machine.
public struct WebServer: Sendable {
    private let port: UInt16
    private let directory: FilePath

    /// The address of the served directory.
    public var address: String { "http://127.0.0.1:\(port)" }

    /// Runs a body with a server.
    ///
    /// - Parameters:
    ///   - root: the served directory.
    ///   - directory: a directory for the server's own files.
    ///   - rules: further directives of the server, in nginx's language.
    ///   - body: uses the server.
    /// - Returns: the result of the body.
    /// - Throws: the errors of the body; ``MissingProgram``; `Overdue`.
    public static func with<Result>(
        _ root: FilePath, in directory: FilePath, rules: String = "", _ body: (WebServer) async throws -> Result
    ) async throws -> Result {
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        guard FileManager.default.isExecutableFile(atPath: program) else { throw MissingProgram() }
        let port = try freePort()
        let server = WebServer(port: port, directory: directory)
        try server.configuration(root, rules).write(toFile: server.file("nginx.conf"), atomically: true, encoding: .utf8)
        let process = try await RunningTool(
            program, ["-p", directory.string, "-c", server.file("nginx.conf"), "-e", server.file("error.log"), "-g", "daemon off;"])
        do {
            try await until("the web server listens", seen: { (try? String(contentsOfFile: server.file("error.log"), encoding: .utf8)) ?? "" }) {
                server.isListening
            }
            let result = try await body(server)
            try await process.stop()
            return result
        } catch {
            process.signal(SIGKILL)
            _ = try? await process.end()
            throw error
        }
    }

    private static let program = "/usr/sbin/nginx"

    /// The program is not installed.
    public struct MissingProgram: Error, CustomStringConvertible {
        /// The program, and the package that installs it.
        public var description: String { "nginx is missing; install the package nginx-light" }
    }

    private func file(_ name: String) -> String { directory.appending(name).string }

    /// nginx's workers run as another user if it is started by root, so it runs as one process.
    private func configuration(_ root: FilePath, _ rules: String) -> String {
        """
        master_process off;
        worker_processes 1;
        pid \(file("nginx.pid"));
        events { worker_connections 64; }
        http {
            log_format plain '$request_method $uri $status $body_bytes_sent';
            access_log \(file("access.log")) plain;
            client_body_temp_path \(file("body"));
            proxy_temp_path \(file("proxy"));
            fastcgi_temp_path \(file("fastcgi"));
            uwsgi_temp_path \(file("uwsgi"));
            scgi_temp_path \(file("scgi"));
            default_type application/octet-stream;
            server {
                listen 127.0.0.1:\(port);
                root \(root);
                location = /logged { access_log off; return 204; }
                \(rules)
            }
        }
        """
    }

    private var isListening: Bool {
        guard let socket = try? connected() else { return false }
        close(socket)
        return true
    }

    /// Returns a connection to the server, which the caller closes.
    private func connected() throws -> Int32 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else {
            let reason = Errno(rawValue: errno)
            close(socket)
            throw reason
        }
        return socket
    }

    /// Returns a port that nothing listens on at the moment.
    private static func freePort() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) == 0 ? getsockname(socket, $0, &size) : -1 }
        }
        guard result == 0 else { throw Errno(rawValue: errno) }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// The requests that have been answered, such as `GET /head 200 512`, and that this call has not returned before.
    ///
    /// - Throws: `Errno` where the server does not answer.
    public func requests(since count: Int = 0) throws -> [String] {
        // The server logs a request after its answer, and before it answers the next one.
        try ask("/logged")
        let log = try String(contentsOfFile: file("access.log"), encoding: .utf8)
        return Array(log.split(separator: "\n").map(String.init).dropFirst(count))
    }

    /// Requests a path, and returns once the answer has been sent.
    private func ask(_ path: String) throws {
        let socket = try connected()
        defer { close(socket) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let request = "GET \(path) HTTP/1.0\r\n\r\n"
        guard send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count else { throw Errno(rawValue: errno) }
        var answer = [UInt8](repeating: 0, count: 512)
        while true {
            let count = recv(socket, &answer, answer.count, 0)
            if count == 0 { return }
            if count < 0, errno != EINTR { throw Errno(rawValue: errno) }
        }
    }
}
