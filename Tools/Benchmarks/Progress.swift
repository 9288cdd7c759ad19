import Foundation

/// Says on standard error what a long measurement is doing.
func progress(_ text: String) { FileHandle.standardError.write(Data("bench: \(text)\n".utf8)) }

/// A long measurement of many equal steps, of which about ten are told.
struct Progress {
    private let name: String
    private let count: Int
    private var done = 0
    private var began = ContinuousClock.now

    init(_ name: String, of count: Int) { (self.name, self.count) = (name, count) }

    /// Counts a step, and tells about it if it ends a tenth.
    mutating func advance() {
        done += 1
        guard done.isMultiple(of: max(1, count / 10)) else { return }
        let time = ContinuousClock.now - began
        progress("\(done) of \(count) \(name), the last tenth in \(time.formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1))))")
        began = .now
    }
}
