import ArgumentParser

@main
struct Demo: AsyncParsableCommand {
    func run() async throws {}
}
