internal import HTTPTypes
internal import Hummingbird
internal import Synchronization

/// Lets only this user's own browser in, and tells it to take nothing from elsewhere.
struct LoopbackGate<Context: RequestContext>: RouterMiddleware {
    /// Holds the rule that lets requests in.
    final class Keeper: Sendable {
        private let access = Mutex<LoopbackAccess?>(nil)

        /// The rule; nil until the server has its port.
        var present: LoopbackAccess? {
            get { access.withLock { $0 } }
            set { access.withLock { $0 = newValue } }
        }
    }

    let keeper: Keeper

    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        var response: Response
        if let access = keeper.present {
            switch access.answer(question(request, access)) {
            case .allow: response = try await next(request, context)
            case .enter:
                response = Response(status: .seeOther, headers: [.location: "/"])
                response.setCookie(Cookie(name: LoopbackAccess.cookieName, value: access.secret, path: "/", httpOnly: true, sameSite: .lax))
            case .refuse(let reason): response = .text(reason + "\n", status: .forbidden)
            }
        } else {
            response = .text("The server is starting.\n", status: .serviceUnavailable)
        }
        for (name, value) in Self.headers { response.headers[name] = value }
        return response
    }

    private func question(_ request: Request, _ access: LoopbackAccess) -> LoopbackAccess.Question {
        func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { request.headers[$0] } }
        var question = LoopbackAccess.Question(host: host(request), cookie: request.cookies[LoopbackAccess.cookieName]?.value)
        question.method = request.method.rawValue
        question.origin = header("Origin")
        (question.fetchSite, question.fetchMode, question.fetchDestination) = (
            header("Sec-Fetch-Site"), header("Sec-Fetch-Mode"), header("Sec-Fetch-Dest")
        )
        if request.uri.path == "/" { question.ticket = request.uri.queryParameters["ticket"].map(String.init) }
        question.isMarked = header("X-Ubiquity") == "1"
        return question
    }

    /// The server's name in a request; nil if it names two.
    private func host(_ request: Request) -> String? {
        guard let whole = request.uri.host else { return request.head.authority }
        let other = request.uri.port.map { "\(whole):\($0)" } ?? whole
        return other == request.head.authority ? other : nil
    }

    private static var headers: [(HTTPField.Name, String)] {
        [
            (
                .contentSecurityPolicy,
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                    + "frame-ancestors 'none'"
            ),
            (.xContentTypeOptions, "nosniff"), (.cacheControl, "no-store"), (HTTPField.Name("Referrer-Policy")!, "no-referrer"),
            (HTTPField.Name("Cross-Origin-Resource-Policy")!, "same-origin"), (HTTPField.Name("Cross-Origin-Opener-Policy")!, "same-origin"),
        ]
    }
}

extension Response {
    /// An answer in plain text.
    static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        .bytes(Array(text.utf8), "text/plain; charset=utf-8", status: status)
    }

    /// An answer with bytes of a media type.
    static func bytes(_ bytes: [UInt8], _ type: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
